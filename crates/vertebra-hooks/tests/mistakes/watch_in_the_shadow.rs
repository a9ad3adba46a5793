mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookOptions, HookSet};

fn main() {
    let mut hooks = HookSet::new();
    hooks.watch(BeforeToolUse.named("log").shadow(), async |_| Ok(()));
}
