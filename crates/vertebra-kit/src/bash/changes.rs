//! Finds the protected files that a command changes by itself, as `echo x > .envrc` does. The sandbox would refuse these
//! changes. So what a person cannot grant is refused without a question, and for the rest a person is asked at once.

use std::path::{Path, PathBuf};

use vertebra::ToolError;

use super::{
    Bash,
    environment::Variables,
    git::ground,
    needs::may_be_granted,
    policy::protected_changes,
    sandbox::{Need, resolved},
};
use crate::protected::{Protection, git, is_packaged, protection_below};

impl Bash {
    /// The protected files that a command changes, as far as they are known before it runs. The error says which of them stays
    /// as it is whatever a person answers.
    pub(super) fn check_changes(
        &self,
        command: &str,
        (folder, here): (&Path, &Path),
        variables: &Variables,
    ) -> Result<Vec<PathBuf>, ToolError> {
        let root = resolved(folder);
        let mut changed = Vec::new();
        if self.sandbox.need == Need::Off {
            return Ok(changed);
        }
        for path in protected_changes(command, &ground(folder, here, variables)) {
            let path = resolved(Path::new(&path));
            let Ok(name) = path.strip_prefix(&root) else { continue };
            let is_held = match protection_below(&root, &path, &git::has_head) {
                Protection::Denied => !is_packaged(&path, &root),
                Protection::Hooks => path.extension().is_none_or(|end| end != "sample"),
                // The content decides.
                _ => false,
            };
            if !is_held {
                continue;
            }
            match may_be_granted(self, &path, folder, variables) {
                Ok(()) => changed.push(path),
                Err(why) => {
                    let name = name.display();
                    return Err(ToolError::new(format!(
                        "not run, nothing was changed: the command changes `{name}`, which {why}"
                    )));
                }
            }
        }
        Ok(changed)
    }
}
