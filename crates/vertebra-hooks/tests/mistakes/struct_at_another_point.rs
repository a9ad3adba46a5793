mod points;

use points::{BeforeToolUse, ShouldContinue};
use vertebra_hooks::{Attach, HookSet, Answer, Cx, Hook, proceed};

struct Politeness;

impl Hook<ShouldContinue> for Politeness {
    async fn run(&self, _cx: &mut Cx<'_, ShouldContinue>) -> Answer<ShouldContinue> {
        proceed()
    }
}

fn main() {
    let mut hooks = HookSet::new();
    hooks.add_hook(BeforeToolUse, Politeness);
}
