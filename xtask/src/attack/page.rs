//! What was seen, for a terminal and for `docs/attack.md`.

use std::fmt;

use super::{
    Row,
    session::{Seen, User},
};

pub(super) struct Page<'r> {
    pub(super) rows: &'r [Row],
    pub(super) users: &'r [User],
}

/// One line per probe, as soon as it is known.
pub(super) fn line(row: &Row) -> String {
    let users: Vec<String> = row.users.iter().map(|(user, seen)| format!("{} {}", user.name(), seen.word())).collect();
    let mark = if row.held() { "ok  " } else { "FAIL" };
    format!("{mark} {:<40} without {}, {}", row.probe.name, row.control.word(), users.join(", "))
}

impl Page<'_> {
    pub(super) fn summary(&self) -> String {
        let held = self.rows.iter().filter(|row| row.held()).count();
        let ignored =
            self.rows.iter().filter(|row| row.users.iter().any(|(_, seen)| matches!(seen, Seen::Ignored(_)))).count();
        let (all, users) = (self.rows.len(), self.users.len());
        let mut summary = format!("{held} of {all} probes held, {users} users, {ignored} ignored");
        if self.users.len() < User::BOTH {
            summary += "\nnot run as root and as an ordinary user: only root can become another user";
        }
        summary
    }

    /// Everything that is known about a probe that did not hold.
    pub(super) fn story(row: &Row) -> String {
        let control = std::iter::once(("without Vertebra".to_owned(), &row.control));
        let users = row.users.iter().map(|(user, seen)| (user.name().to_owned(), seen));
        let told = control.chain(users).map(|(who, seen)| match seen {
            Seen::Failed(text) => format!("  {who}: failed\n{text}"),
            Seen::Ignored(why) => format!("  {who}: ignored, because {why}"),
            Seen::Held | Seen::Broken => format!("  {who}: {}", seen.word()),
        });
        told.collect::<Vec<_>>().join("\n")
    }
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "# Attacks\n\nThese attacks are run against the program in every test run, as root and as an ordinary user. Each one \
             is also run\nwithout Vertebra, where it must succeed, unless there is nothing to compare (\"ignored\"). `cargo \
             xtask attack` runs them,\nand `cargo xtask attack --write` writes this page. The probes are shell functions in \
             `xtask/attack`.\n",
        )?;
        let mut point = "";
        for row in self.rows {
            if row.probe.point != point {
                point = &row.probe.point;
                write!(f, "\n## {point}\n\n| attack | without Vertebra | expected |")?;
                self.users.iter().try_for_each(|user| write!(f, " {} |", user.name()))?;
                writeln!(f, "\n| --- | --- | --- |{}", " --- |".repeat(self.users.len()))?;
            }
            let works = if row.control == Seen::Broken { "works" } else { row.control.word() };
            write!(f, "| {} | {works} | held |", row.probe.title.replace('|', "\\|"))?;
            row.users.iter().try_for_each(|(_, seen)| write!(f, " {} |", seen.word()))?;
            writeln!(f)?;
        }
        Ok(())
    }
}
