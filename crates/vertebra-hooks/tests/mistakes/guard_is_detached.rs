mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookOptions, HookSet, deny};

fn main() {
    let mut hooks = HookSet::new();
    hooks.guard(BeforeToolUse.detached(), async |_| deny("deletions are for humans"));
}
