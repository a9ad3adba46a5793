mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(BeforeToolUse, |cx| {
        cx.tool.clear();
        proceed()
    });
}
