mod points;

use points::ToolUse;
use vertebra_hooks::{Attach, HookSet};

fn main() {
    let mut hooks = HookSet::new();
    hooks.around(ToolUse, async |cx| Ok(cx.tool.clone()));
}
