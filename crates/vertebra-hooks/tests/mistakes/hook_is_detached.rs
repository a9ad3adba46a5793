mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookOptions, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(BeforeToolUse.named("rewrite").detached(), async |_| proceed());
}
