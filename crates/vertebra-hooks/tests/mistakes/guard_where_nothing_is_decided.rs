mod points;

use points::Notification;
use vertebra_hooks::{Attach, HookSet, proceed};

fn main() {
    let mut hooks = HookSet::new();
    hooks.guard(Notification, async |_| proceed());
}
