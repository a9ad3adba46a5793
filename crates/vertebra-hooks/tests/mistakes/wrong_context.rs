mod points;

use points::{BeforeToolUse, ShouldContinue};
use vertebra_hooks::{Attach, HookSet, Cx, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(BeforeToolUse, async |_: &mut Cx<'_, ShouldContinue>| proceed());
}
