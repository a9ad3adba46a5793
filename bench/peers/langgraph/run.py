"""The 200-turn run of `cargo xtask journal`, on LangGraph with its SQLite checkpointer. Prints one line of JSON per row."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

TURNS = 200
TIMES = 3


def graph(saver, turns, tool):
    """A model that asks for a tool so often, then is done; no hooks."""

    def model(state):
        answers = len(state["messages"]) // 2
        if answers >= turns:
            return {"messages": [AIMessage("done")]}
        call = {"name": "noop", "args": {}, "id": f"call-{answers}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    def tools(state):
        call = state["messages"][-1].tool_calls[0]
        return {"messages": [ToolMessage(tool(), tool_call_id=call["id"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", tools)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else END)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


def config(turns):
    return {"configurable": {"thread_id": "one"}, "recursion_limit": 2 * turns + 5}


def turns(durability, turns):
    best, size, moments = None, 0, []
    for _ in range(TIMES):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            path = os.path.join(folder, "checkpoints.db")
            connection = sqlite3.connect(path, check_same_thread=False)
            seen = []

            def tool():
                seen.append(time.perf_counter_ns())
                return "done"

            app = graph(SqliteSaver(connection), turns, tool)
            began = time.perf_counter_ns()
            done = app.invoke({"messages": [HumanMessage("go")]}, config(turns), durability=durability)
            took = time.perf_counter_ns() - began
            assert len(done["messages"]) == 2 * turns + 2
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
            if best is None or took < best:
                best, size, moments = took, os.path.getsize(path), seen
    return best, size, moments


def row(name, ns=None, **more):
    print(json.dumps({"row": name, "ns": ns, **more}), flush=True)


def effects(path):
    with open(path) as file:
        return len(file.readlines())


def killed():
    """A tool whose process is killed in the middle of it, and how often its effect happened when the run is done."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        program = [sys.executable, __file__, "work", folder]
        child = subprocess.Popen(program)
        path = os.path.join(folder, "effects")
        while not os.path.exists(path):
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)
        child.wait()
        subprocess.run([*program, "again"], check=True)
        row("effects of a tool whose process is killed in it", count=effects(path))


def work(folder, again):
    path = os.path.join(folder, "effects")

    def tool():
        with open(path, "a") as file:
            file.write("paid\n")
        while not again:
            time.sleep(1)
        return "paid"

    connection = sqlite3.connect(os.path.join(folder, "checkpoints.db"), check_same_thread=False)
    app = graph(SqliteSaver(connection), 1, tool)
    # `None` is how LangGraph is told to go on where it was.
    app.invoke(None if again else {"messages": [HumanMessage("go")]}, config(1), durability="sync")


def main():
    if sys.argv[1:2] == ["work"]:
        return work(sys.argv[2], len(sys.argv) > 3)
    for durability, name in [("sync", "a turn, safe from a power cut"), ("async", "a turn, written in the background")]:
        took, size, moments = turns(durability, TURNS)
        row(name, took // TURNS, bytes=size // TURNS)
        if durability == "sync":
            first, last = moments[20] - moments[0], moments[-1] - moments[-21]
            row("a turn, the first twenty", first // 20)
            row("a turn, the last twenty", last // 20)
    killed()


main()
