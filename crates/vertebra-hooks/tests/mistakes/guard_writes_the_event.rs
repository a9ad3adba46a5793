mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.guard(BeforeToolUse, async |cx| {
        cx.tool = "ls".into();
        proceed()
    });
}
