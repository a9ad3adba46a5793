mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, halt};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(BeforeToolUse, async |_| halt("secret"));
}
