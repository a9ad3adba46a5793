mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, deny};

fn main() {
    let mut hooks = HookSet::new();
    hooks.watch(BeforeToolUse, async |_| deny("no"));
}
