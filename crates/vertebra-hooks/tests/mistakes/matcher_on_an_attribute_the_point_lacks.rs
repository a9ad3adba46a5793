mod points;

use points::{MatchAttribute, ShouldContinue};
use vertebra_hooks::{Attach, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(ShouldContinue.command(r"\brm\b"), async |_| proceed());
}
