mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(BeforeToolUse, async |_| Ok(()));
}
