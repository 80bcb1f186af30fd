"""Tracks queries in child processes of multiprocessing. Usage: processes.py START_METHOD"""

import multiprocessing
import os
import sys

from recalld import Client

client = Client(os.environ["RECALLD_URL"], pipeline=os.environ["RECALLD_PIPELINE"], flush_interval=3600)


def work(number):
    client.track(id=f"q-{number}", text="How do I pay?", results=["a"])


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    client.track(id="parent", results=["a"])
    children = [context.Process(target=work, args=(number,)) for number in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    with context.Pool(2) as pool:
        pool.map(work, range(3, 9))
        pool.close()
        pool.join()
