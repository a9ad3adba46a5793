mod points;

use points::ShouldContinue;
use vertebra_hooks::{Attach, HookSet, deny};

fn main() {
    let mut hooks = HookSet::new();
    hooks.guard(ShouldContinue, async |_| deny("no"));
}
