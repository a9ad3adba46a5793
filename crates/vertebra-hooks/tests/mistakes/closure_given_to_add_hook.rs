mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, Cx, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.add_hook(BeforeToolUse, async |_: &mut Cx<'_, BeforeToolUse>| proceed());
}
