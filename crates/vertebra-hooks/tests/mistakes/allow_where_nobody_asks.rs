mod points;

use points::ShouldContinue;
use vertebra_hooks::{Attach, HookSet, allow};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(ShouldContinue, async |_| allow());
}
