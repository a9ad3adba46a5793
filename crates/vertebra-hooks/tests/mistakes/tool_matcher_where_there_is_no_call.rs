mod points;

use points::ShouldContinue;
use vertebra_hooks::{Attach, HookSet, MatchCall, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(ShouldContinue.tool("bash"), async |_| proceed());
}
