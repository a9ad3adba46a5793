mod points;

use points::BeforeToolUse;
use vertebra_hooks::{Attach, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    let mut count = 0;
    hooks.on(BeforeToolUse, async move |_| {
        count += 1;
        proceed()
    });
}
