//! The bash policy: what it denies, asks about and allows.

mod corpus;
mod details;
mod guard;
mod own;
mod properties;

use vertebra_kit::bash::policy::{BashPolicy, Decision, Ground, Judgement, judge};

use crate::sheet::Sheet;

pub(crate) fn sheet() -> Sheet {
    let Ground { writable, hosts, .. } = ground();
    Sheet {
        name: "BashPolicy",
        purpose: "Judges every command by its structure: denies harm, and asks about what it cannot understand.",
        install: |builder| {
            builder.with(BashPolicy::new(ground()));
        },
        knobs: vec![
            ("ground.folder", "the working folder".to_owned()),
            ("ground.home", "the home folder".to_owned()),
            ("ground.writable", writable.join(", ")),
            ("ground.hosts", hosts.join(", ")),
        ],
    }
}

/// The ground on which cases are judged.
fn ground() -> Ground {
    Ground::new("/home/user/project", "/home/user")
}

fn judged(command: &str) -> Judgement {
    judge(command, &ground())
}

fn decided(command: &str) -> Decision {
    judged(command).decision
}
