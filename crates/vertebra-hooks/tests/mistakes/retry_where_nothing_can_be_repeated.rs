mod points;

use std::time::Duration;

use points::Notification;
use vertebra_hooks::{Attach, HookSet, retry};

fn main() {
    let mut hooks = HookSet::new();
    hooks.on(Notification, async |_| retry(Duration::from_secs(1)));
}
