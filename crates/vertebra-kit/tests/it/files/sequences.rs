//! Any sequence of edits, writes and reads comes to what the same sequence does in memory.

use proptest::prelude::*;
use serde_json::json;

use super::World;

#[derive(Debug, Clone)]
enum Step {
    Read,
    Write(String),
    Edit {
        old: String,
        new: String,
        all: bool,
    },
    /// Somebody else writes.
    Meddle(String),
}

fn text() -> impl Strategy<Value = String> {
    "[abü\n]{0,12}"
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Read),
        2 => text().prop_map(Step::Write),
        6 => ("[abü\n]{0,2}", "[abü\n]{0,3}", any::<bool>()).prop_map(|(old, new, all)| Step::Edit { old, new, all }),
        1 => text().prop_map(Step::Meddle),
    ]
}

/// What is on the disk, and what the model knows of it.
struct Memory {
    disk: String,
    known: Option<String>,
}

impl Memory {
    /// Whether the step works, and if so, what it does.
    fn apply(&mut self, step: &Step) -> bool {
        let is_known = self.known.as_ref() == Some(&self.disk);
        let after = match step {
            Step::Read => Some(self.disk.clone()),
            Step::Meddle(content) => {
                self.disk.clone_from(content);
                return true;
            }
            Step::Write(content) if *content == self.disk => Some(content.clone()),
            Step::Write(content) => is_known.then(|| content.clone()),
            _ if self.known.is_none() => None,
            Step::Edit { old, new, .. } if old.is_empty() || old == new => None,
            Step::Edit { old, new, all } => {
                let starts = self.disk.char_indices().filter(|(at, _)| self.disk[*at..].starts_with(old)).count();
                let fits = if *all { starts > 0 } else { starts == 1 };
                fits.then(|| self.disk.replace(old, new))
            }
        };
        let Some(after) = after else { return false };
        self.disk.clone_from(&after);
        // An edit of a file that has changed since shows nothing of the rest.
        if is_known || !matches!(step, Step::Edit { .. }) {
            self.known = Some(after);
        }
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_is_what_its_edits_make_of_it(begin in text(), steps in prop::collection::vec(step(), 1..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let world = World::with(&begin);
            let mut memory = Memory { disk: begin, known: None };
            let mut talk = world.talk().await;
            for step in &steps {
                let works = match step {
                    Step::Read => talk.call("read_file", json!({"path": "a.txt"})).await.success,
                    Step::Write(content) => {
                        talk.call("write_file", json!({"path": "a.txt", "content": content})).await.success
                    }
                    Step::Edit { old, new, all } => {
                        let args = json!({"path": "a.txt", "old_string": old, "new_string": new, "replace_all": all});
                        talk.call("edit_file", args).await.success
                    }
                    Step::Meddle(content) => {
                        world.put("a.txt", content);
                        true
                    }
                };
                assert_eq!(works, memory.apply(step), "{step:?}");
                assert_eq!(world.text("a.txt"), memory.disk, "{step:?}");
                assert_eq!(world.names(), ["a.txt"]);
            }
        });
    }
}
