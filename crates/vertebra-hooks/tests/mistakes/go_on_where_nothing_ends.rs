mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, go_on};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(BeforeToolUse, async |_| go_on("more"));
}
