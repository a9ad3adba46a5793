//! The probes, as they are written in `xtask/attack`.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, ensure};

pub(super) const FOLDER: &str = "xtask/attack";

/// One attack.
#[derive(Clone)]
pub(super) struct Probe {
    /// What it belongs to, as the first comment of its file says.
    pub(super) point: String,
    /// What it tries, in words.
    pub(super) title: String,
    /// The function that tries it.
    pub(super) name: String,
    pub(super) file: PathBuf,
}

/// Reads all probes, in the order of the files.
pub(super) fn all() -> anyhow::Result<Vec<Probe>> {
    let entries = fs::read_dir(FOLDER).with_context(|| format!("cannot read {FOLDER}"))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sh") && !file.ends_with("prelude.sh"));
    files.sort();
    let mut probes: Vec<Probe> = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let found = read(&file, &text);
        ensure!(!found.is_empty(), "{} has no probe", file.display());
        for probe in found {
            let twin = probes.iter().find(|other| other.name == probe.name);
            ensure!(twin.is_none(), "{}: a second probe named {}", file.display(), probe.name);
            probes.push(probe);
        }
    }
    Ok(probes)
}

/// A probe is a function without a leading underscore, right below the comment that says what it tries.
fn read(file: &std::path::Path, text: &str) -> Vec<Probe> {
    let point = text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default();
    let point = point.split(". ").next().unwrap_or(point).trim_end_matches('.');
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let title = pair[0].strip_prefix("# ")?;
        let name = pair[1].strip_suffix("() {")?;
        (!name.starts_with('_')).then_some((title, name))
    });
    let probe = |(title, name): (&str, &str)| Probe {
        point: point.to_owned(),
        title: title.trim_end_matches('.').to_owned(),
        name: name.to_owned(),
        file: file.to_owned(),
    };
    pairs.map(probe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_a_function_with_a_comment_above_it() {
        let text = "# Point 2: Git metadata. More about it.\n\n# Does this\nthis() {\n}\n\n# Helps\n_helper() {\n}\n\nthat() {\n}\n";
        let probes = read(std::path::Path::new("a.sh"), text);

        assert_eq!(probes.len(), 1);
        assert_eq!(
            (&*probes[0].point, &*probes[0].title, &*probes[0].name),
            ("Point 2: Git metadata", "Does this", "this")
        );
    }
}
