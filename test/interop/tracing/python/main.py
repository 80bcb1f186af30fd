"""Runs a program under an instrumentation, and prints what the program retrieved: main.py FRAMEWORK TRACING PACKAGE..."""

import contextlib
import importlib
import sys

import recorder

framework, tracing, *packages = sys.argv[1:]
# Only the recorder writes to stdout.
with contextlib.redirect_stdout(sys.stderr):
    instrumentation = importlib.import_module(f"{tracing}_tracing")
    # The instrumentation starts first, because frameworks load their tracing when they are imported.
    stop = instrumentation.start(framework)
    program = importlib.import_module(f"{'langchain' if framework == 'langgraph' else framework}_program")
    with instrumentation.session("session-7"), recorder.session("session-7"):
        # LangChain passes this config to every step of a chain.
        config = getattr(instrumentation, "config", dict)()
        program.run_agent(config) if framework == "langgraph" else program.run(config)
    stop()
recorder.write(packages)
