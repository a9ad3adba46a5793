mod points;

use points::{BeforeToolUse, ShouldContinue};
use vertebra_hooks::{Attach, HookSet, Answer, Cx, Hook, deny};

struct Politeness;

impl Hook<ShouldContinue> for Politeness {
    async fn run(&self, _cx: &mut Cx<'_, ShouldContinue>) -> Answer<BeforeToolUse> {
        deny("impolite")
    }
}

fn main() {
    let mut hooks = HookSet::new();
    hooks.add_hook(ShouldContinue, Politeness);
}
