mod points;

use points::Notification;
use vertebra_hooks::{Attach, HookSet, deny};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(Notification, async |_| deny("too late"));
}
