"""Vertebra without `async`: the same names, on a loop in a thread of its own.

    with vertebra.sync.connect("127.0.0.1:7777", token=token) as client:

        @client.guard("BeforeToolUse", tool="bash")
        def no_force(event: BeforeToolUseEvent) -> Deny | None:
            return deny("force is for humans") if "--force" in event["args"]["command"] else None

        session = client.sessions.create()
        print(session.prompt("Tidy up the branches.").text())

A hook is in force when its decorator returns, or the decorator raises.
"""

from .client import Approvals, Client, connect
from .engine import HookEngine
from .sessions import Run, Session, Sessions

__all__ = ["Approvals", "Client", "HookEngine", "Run", "Session", "Sessions", "connect"]
