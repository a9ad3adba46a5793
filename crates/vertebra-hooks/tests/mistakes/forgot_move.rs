mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, deny, proceed};

fn main() {
    let mut hooks = HookSet::new();
    let denied = String::from("bash");
    hooks.guard(BeforeToolUse, async |cx| if cx.tool == denied { deny("no") } else { proceed() });
}
