mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookOptions, HookSet};

fn main() {
    let mut hooks = HookSet::new();
    hooks.watch(BeforeToolUse.named("log").max_retries(3), async |_| Ok(()));
}
