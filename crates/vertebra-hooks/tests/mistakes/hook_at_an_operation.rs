mod points;

use points::ToolUse;
use vertebra_hooks::{Attach, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(ToolUse, async |_| proceed());
}
