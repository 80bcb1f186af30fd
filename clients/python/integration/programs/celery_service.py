"""Celery tasks that retrieve documents, in a prefork pool. A folder serves as the broker."""

import os

from celery import Celery
from recalld import Client

folder = os.environ["BROKER_FOLDER"]
app = Celery(broker="filesystem://")
app.conf.update(
    broker_transport_options={"data_folder_in": folder, "data_folder_out": folder, "control_folder": folder + "/control"},
    worker_prefetch_multiplier=1,
)
client = Client(os.environ["RECALLD_URL"], pipeline=os.environ["RECALLD_PIPELINE"], flush_interval=3600)


@app.task
def search(name):
    client.track(id=name, text="How do I pay?", results=["a"])
    return os.getpid()
