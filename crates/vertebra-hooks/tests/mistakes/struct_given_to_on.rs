mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, Answer, Cx, Hook, proceed};

struct NoShell;

impl Hook<BeforeToolUse> for NoShell {
    async fn run(&self, _cx: &mut Cx<'_, BeforeToolUse>) -> Answer<BeforeToolUse> {
        proceed()
    }
}

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(BeforeToolUse, NoShell);
}
