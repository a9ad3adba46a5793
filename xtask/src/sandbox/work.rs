//! The work that is measured: what makes few files for its time, and what makes little but files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::ensure;

use crate::stage::Stage;

pub(super) struct Work {
    pub(super) name: &'static str,
    /// In a name of a folder.
    pub(super) short: &'static str,
    /// What the shell does, in a new folder two levels below the one that was prepared.
    pub(super) line: &'static str,
    /// By how much less often it is measured.
    pub(super) share: usize,
    prepare: fn(&Path) -> anyhow::Result<()>,
}

impl Work {
    pub(super) fn prepare(&self, root: &Path) -> anyhow::Result<()> {
        (self.prepare)(root)
    }
}

pub(super) const ALL: [Work; 3] = [
    Work {
        name: "`make`, 40 C files",
        short: "make",
        line: "cp -r ../../c . && make -s -C c",
        share: 3,
        prepare: sources,
    },
    Work {
        name: "`git clone` of this project",
        short: "clone",
        line: "git clone -q ../../clone.git clone",
        share: 1,
        prepare: repository,
    },
    Work {
        name: "unpacking 20 000 files with `tar`",
        short: "unpack",
        line: "tar -xf ../../files.tar",
        share: 3,
        prepare: archive,
    },
];

fn sources(root: &Path) -> anyhow::Result<()> {
    let folder = root.join("c");
    fs::create_dir(&folder)?;
    let mut objects = String::new();
    for file in 0..40 {
        let mut text =
            String::from("#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
        for function in 0..60 {
            writeln!(
                text,
                "int f{file}_{function}(int n, char *s) {{ double x = 1; for (int i = 0; i < n; i++) {{ x = sqrt(x + i) * {function}; \
                 if (strlen(s) > (size_t)i) s[i] = (char)x; else printf(\"%d %f\\n\", i, x); }} return (int)x + atoi(s); }}"
            )?;
        }
        fs::write(folder.join(format!("f{file}.c")), text)?;
        write!(objects, " f{file}.o")?;
    }
    Ok(fs::write(folder.join("Makefile"), format!("CFLAGS = -O2\nall:{objects}\n"))?)
}

/// This project in one pack, without the files that no command may make: a clone would end with an error.
fn repository(root: &Path) -> anyhow::Result<()> {
    let whole = root.join("whole");
    let here = std::env::current_dir()?;
    let protected = ["*.npmrc", "*opencode.json", "*vertebra.toml"];
    let git = |line: &str| Stage::new("prepare a repository", &format!("git {line}"));
    let stages = [
        git("clone -q --no-hardlinks").arg(&here).arg(&whole),
        git("rm -q -r --ignore-unmatch").args(protected).within(&whole),
        git("-c user.name=A -c user.email=a@example.org -c commit.gpgsign=false commit -q --allow-empty -m Less")
            .within(&whole),
        git("clone -q --bare --no-hardlinks").arg(&whole).arg(root.join("clone.git")),
        git("gc -q").within(root.join("clone.git")),
    ];
    ensure!(stages.iter().all(Stage::passes), "the repository was not made");
    Ok(())
}

fn archive(root: &Path) -> anyhow::Result<()> {
    let folder = root.join("files");
    for at in 0..200 {
        let below = folder.join(format!("folder{at}"));
        fs::create_dir_all(&below)?;
        for file in 0..100 {
            fs::write(below.join(format!("file{file}.txt")), format!("{at} {file}\n").repeat(20))?;
        }
    }
    let tar = Stage::new("make an archive", "tar -cf").arg(root.join("files.tar")).arg("-C").arg(root).arg("files");
    ensure!(tar.passes(), "the archive was not made");
    Ok(())
}
