//! What the supervisor keeps between two calls is never out of date: where a process stands, and which folders are
//! repositories.

use std::process::Command;

use super::{
    protected::{area, contents},
    supervised::until,
    *,
};

#[tokio::test]
async fn a_process_makes_files_where_it_stands_now_whoever_made_the_call_before() {
    let area = Area::new();
    let code = "
import os
top = os.getcwd()
for name in 'abc': os.mkdir(name)
os.mkdir('other')
os.chdir('a')
open('1', 'x')
os.chdir('../b')
open('2', 'x')
# The folder gets another name while the process stands in it, and its name another folder.
os.rename(top + '/b', top + '/renamed')
os.mkdir(top + '/b')
open('3', 'x')
# Its name becomes a link.
os.rmdir(top + '/b')
os.symlink('other', top + '/b')
open('4', 'x')
os.chdir(top + '/b')
open('5', 'x')
handle = os.open(top + '/c', os.O_RDONLY)
os.close(os.open('6', os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=handle))
os.dup2(os.open(top + '/a', os.O_RDONLY), handle)
os.close(os.open('7', os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=handle))
os.chdir(top)
# Numbers of processes come again; folders do not.
for number in range(200):
    child = os.fork()
    if child == 0:
        os.chdir('abc'[number % 3] if number % 3 != 1 else 'other')
        open(f'child{number}', 'x')
        os._exit(0)
    os.waitpid(child, 0)
";
    let output = area.bash(&python(code)).await.output;
    let made = contents(&area.path("work"));
    let has = |path: &str| made.iter().any(|(name, _)| name == path);
    for path in ["a/1", "renamed/2", "renamed/3", "renamed/4", "other/5", "c/6", "a/7"] {
        assert!(has(path), "{path}: {output} {made:?}");
    }
    for number in 0..200 {
        let folder = ["a", "other", "c"][number % 3];
        assert!(has(&format!("{folder}/child{number}")), "{number}: {output}");
    }
}

/// A configuration that starts a program.
const STARTS: &str = "printf '[core]\\n\\tfsmonitor = ./x\\n'";

fn starts_nothing(git: &Path) -> bool {
    let files = ["config", "config.worktree"].map(|name| fs::read_to_string(git.join(name)).unwrap_or_default());
    files[0].contains("bare = true") && files.iter().all(|text| !text.contains("fsmonitor"))
}

#[tokio::test]
async fn a_folder_that_becomes_a_repository_is_one_for_the_next_call() {
    let area = area();
    let command = format!(
        "mkdir d && {STARTS} > d/config && rm d/config && git init -q --bare d
        ln -s d link; mkdir deep && mv d deep/moved && ln -s deep/moved other
        {STARTS} > deep/moved/config || echo held; {STARTS} > other/config || echo held
        cd deep/moved && {{ {STARTS} > config || echo held; }}; cd hooks && {{ echo x > post-merge || echo held; }}"
    );
    let output = area.bash(&command).await.output;
    assert_eq!(output.matches("held").count(), 4, "{output}");
    assert!(starts_nothing(&area.path("work/deep/moved")), "{output}");
}

#[tokio::test]
async fn a_repository_that_somebody_else_makes_meanwhile_is_one_for_the_next_call() {
    let area = area();
    let command = format!(
        "mkdir d && {STARTS} > d/config && rm d/config && touch ready
        until [ -e go ]; do sleep 0.02; done
        {STARTS} > d/config || echo held; {STARTS} > d/config.worktree || echo held; echo x > d/hooks/pre-push || echo held"
    );
    let outside = async {
        until(|| area.path("work/ready").exists()).await;
        let made = Command::new("git").args(["init", "-q", "--bare"]).arg(area.path("work/d")).status();
        assert!(made.expect("git").success());
        fs::write(area.path("work/go"), "").expect("a new file");
    };
    let (result, ()) = tokio::join!(area.bash(&command), outside);
    // A new file is refused once its content is known.
    assert_eq!(result.output.matches("held").count(), 2, "{}", result.output);
    assert!(starts_nothing(&area.path("work/d")), "{}", result.output);
}
