//! What people do all day leaves the same files in the sandbox as without it.

use super::{protected::contents, *};

/// A project to work on: a repository with two commits, and what the cases need.
const PROJECT: &str = "git init -q -b main . && git config user.email a@b.c && git config user.name a && \
    mkdir src && echo 'int main(void) { return 0; }' > src/a.c && printf 'all: a\\na: src/a.c\\n\\tcc -o a src/a.c\\n' > Makefile && \
    echo one > f && git add -A && git commit -qm one && echo two > f && git commit -qam two && git branch side HEAD~1 && \
    git clone -q --bare . ../outside/bare.git";

/// What people do all day, with dates and identities held still so that runs can be compared.
const CASES: &[&str] = &[
    "echo dirty > f && echo new > untracked && mkdir d && echo x > d/y && git stash -q -u && git stash pop -q",
    "echo new > untracked && mkdir d && echo x > d/y && git clean -qfd",
    "echo three > f && git commit -qam three && git tag v1 && git gc -q",
    "git worktree add -q wt side && echo w > wt/w && git -C wt add w && git -C wt commit -qm w && cat wt/.git | wc -l",
    "git worktree add -q wt side && git worktree remove wt && git worktree prune",
    "git remote add origin https://example.com/a.git && git config branch.main.remote origin && git config pull.rebase true",
    "git config user.name 'Somebody Else' && git config --unset user.email",
    "git checkout -q side && echo s > s && git add s && git commit -qm s && git rebase -q main",
    "echo a > a1 && git add a1 && git commit -qm a && echo b > b1 && git add b1 && git commit -qm b && \
     GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -q -i HEAD~2",
    "git merge -q --no-ff -m merged side || git merge --abort",
    "git init -q new && cd new && echo x > x && git add x && git -c user.name=a -c user.email=a commit -qm x",
    "git init -q --bare new.git && git push -q ./new.git main",
    "git clone -q . copy && cd copy && git log --oneline | wc -l",
    "git -c protocol.file.allow=always submodule --quiet add ../outside/bare.git lib && git commit -qm sub && ls lib",
    "git clone -q . copy && cp -r copy other && rm -rf copy && git -C other status --porcelain",
    "cp -r src copy && cp -a src other && mv copy moved && ln -s moved link && ln f hard && rm -r moved",
    "tar czf t.tgz src f && mkdir out && tar xzf t.tgz -C out && rm t.tgz",
    "zip -q t.zip src/a.c && mkdir out && unzip -q t.zip -d out && rm t.zip",
    "make -s && ./a && make -s -B",
    "gcc -c src/a.c -o a.o && ar rcs liba.a a.o && chmod +x f && chmod 600 Makefile",
    "python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)' && rm -rf v/lib64",
    "sqlite3 db 'create table t (a); insert into t values (1); select * from t' && rm db",
    "sqlite3 db 'pragma journal_mode = wal; create table t (a); insert into t values (1);' && rm -f db db-wal db-shm",
    "flock lock -c 'echo locked' && umask 027 && mkdir m && touch m/f && (umask 0; touch m/open)",
    "mkfifo p && (echo x > p &) && cat p && rm p",
    "echo x > /dev/stdout && echo y > /dev/stderr && echo z > /dev/null && echo w > /dev/fd/1",
    "sed -i s/two/three/ f && perl -i -pe 's/three/four/' f",
    "git diff HEAD~1 > p.patch && git checkout -q HEAD~1 . && patch -s -p1 < p.patch && git apply -R p.patch",
    "mkdir d && mv d $TMPDIR/d && touch $TMPDIR/d/x && mv $TMPDIR/d back && mv f $TMPDIR/f && mv $TMPDIR/f f",
    "mkdir many && cd many && for i in $(seq 300); do echo $i > $i; done && cat * | wc -l && rm 1* && mkdir -p a/b/c && rmdir -p a/b/c",
    "node -e 'const fs = require(\"fs\"); fs.mkdirSync(\"n\"); fs.writeFileSync(\"n/x\", \"1\"); fs.renameSync(\"n/x\", \"n/y\"); \
     fs.appendFileSync(\"n/y\", \"2\"); fs.copyFileSync(\"n/y\", \"n/z\"); fs.rmSync(\"n/z\")'",
    "mkdir pkg && cd pkg && printf '{\"name\": \"x\", \"version\": \"1.0.0\"}' > package.json && npm pack --silent && rm *.tgz",
    "mkdir pkg dep && printf '{\"name\": \"dep\", \"version\": \"1.0.0\"}' > dep/package.json && cd pkg && \
     printf '{\"name\": \"x\", \"version\": \"1.0.0\"}' > package.json && npm install --silent --offline --no-audit ../dep && ls node_modules",
    "truncate -s 100 big && dd if=/dev/zero of=big bs=1 count=3 conv=notrunc status=none && truncate -s 5 big",
    "install -m 755 f g && rsync -a src/ s2/ 2>/dev/null || cp -a src s2",
    "echo a > x && exec 3<> x && echo b >&3 && exec 3>&- && cat x && : > x && echo c >> x",
    "mkdir a && cd a && touch ../b && mv ../b . && cd .. && rm -r a",
    "python3 -c 'import os, tempfile; d = tempfile.mkdtemp(dir=\".\", prefix=\"t\"); os.rmdir(d); f = tempfile.NamedTemporaryFile(dir=\".\"); f.close()'",
    "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))'",
    "set -C; echo x > new; echo y > new; cat new",
    "touch -d 2020-01-01 old && chmod -w old && rm -f old && mkdir ro && chmod 555 ro && chmod 755 ro && rmdir ro",
];

/// Dates that make commits of two runs the same.
const DATES: [(&str, &str); 2] =
    [("GIT_AUTHOR_DATE", "2020-01-01T00:00:00Z"), ("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")];

/// Runs a script in a folder, without Vertebra.
#[expect(clippy::disallowed_methods, reason = "git ends by itself and prints little")]
fn by_hand(folder: &Path, script: &str) -> String {
    let mut shell = std::process::Command::new("bash");
    let done = shell.args(["-c", script]).envs(DATES).current_dir(folder).output().expect("a shell");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// All files of the work folder, without what tells one run from another. Objects and references are compared by their
/// names and by what git says of them.
fn left_in(area: &Area) -> Vec<(String, String)> {
    let volatile = ["/index", "/logs", "__pycache__", ".git/objects/pack", "lib/objects", ".package-lock.json"];
    let kept = |path: &str| !volatile.iter().any(|part| path.contains(part)) && !path.starts_with("v/");
    let root = real(area.root.path());
    let left = contents(&area.path("work")).into_iter().filter(|(path, _)| kept(path));
    left.map(|(path, content)| (path, content.replace(&root, "ROOT"))).collect()
}

/// What a case leaves: its exit code, what it said, and the files.
async fn leaves(area: Area, case: &str) -> (Option<i32>, String, Vec<(String, String)>) {
    by_hand(&area.path("work"), PROJECT);
    let (code, said) = outcome(&area, case).await;
    (code, said, left_in(&area))
}

/// How a command ended, and what it said.
async fn outcome(area: &Area, command: &str) -> (Option<i32>, String) {
    let dates = DATES.map(|(name, date)| format!("{name}={date}")).join(" ");
    let result = area.bash(&format!("export {dates} HOME=$TMPDIR; {command}")).await;
    // A program may look for news of itself on the network, and do without.
    let said = result.output.lines().filter(|line| !line.starts_with("[the sandbox blocked a name lookup"));
    (result.exit_code, said.collect::<Vec<_>>().join("\n").replace(&real(area.root.path()), "ROOT"))
}

#[tokio::test]
async fn everyday_work_leaves_the_same_files_as_without_a_sandbox() {
    for case in CASES {
        let (bare, held) = (leaves(Area::new().bare(), case).await, leaves(Area::new(), case).await);
        assert_eq!((held.0, &held.1), (bare.0, &bare.1), "{case}");
        same(&held.2, &bare.2, case);
    }
}

/// Names what is in one list of files and not in the other.
fn same(held: &[(String, String)], bare: &[(String, String)], case: &str) {
    let only = |these: &[(String, String)], those: &[(String, String)]| {
        let these = these.iter().filter(|entry| !those.contains(entry));
        these.map(|(path, text)| format!("{path}: {text:.400}")).collect::<Vec<_>>()
    };
    assert_eq!((only(held, bare), only(bare, held)), (vec![], vec![]), "{case}");
}

/// A package for npm and cargo, with a change and new files that are not committed.
const PACKAGE: &str = "git init -q -b main . && git config user.email a@b.c && git config user.name a && mkdir src && \
    echo 'fn main() {}' > src/main.rs && printf '{\"name\": \"x\", \"version\": \"1.0.0\"}' > package.json && \
    printf '[package]\nname = \"x\"\nversion = \"1.0.0\"\nedition = \"2021\"\n' > Cargo.toml && \
    printf 'target\n*.tgz\n' > .gitignore && git add -A && git commit -qm one && git branch side && \
    echo '// changed' >> src/main.rs && mkdir new && echo n > new/file && chmod 600 new/file && ln -s file new/link";

/// What must behave as without Vertebra, one after the other in the same repository.
const NOTHING_APPEARS: &[&str] = &[
    "git stash -u && git status --short",
    "git stash pop",
    "git worktree add ../tmp/beside side && git worktree add within side~0 --detach && git worktree list | wc -l",
    "git worktree remove within",
    "cp -r . ../tmp/copy && git -C ../tmp/copy status --short && mv ../tmp/copy copy",
    "tar cf ../tmp/all.tar . && mkdir out && tar xf ../tmp/all.tar -C out && tar tf ../tmp/all.tar | sort",
    "git clean -fd",
    "npm pack --silent --offline && tar tzf x-1.0.0.tgz",
    "cargo package --target-dir target --quiet --offline --no-verify --allow-dirty && tar tzf target/package/x-1.0.0.crate",
    "git config user.name 'Somebody Else' && git config user.name",
    "git remote add origin https://example.com/x.git && git remote -v",
];

/// The programs of the person, which are not in the home folder of an area.
fn toolchain() -> String {
    let home = || format!("{}/.rustup", std::env::var("HOME").expect("a home folder"));
    let rustup = std::env::var("RUSTUP_HOME").unwrap_or_else(|_| home());
    format!(
        "export RUSTUP_HOME={rustup} CARGO_HOME=$TMPDIR/cargo npm_config_cache=$TMPDIR/npm npm_config_update_notifier=false"
    )
}

#[tokio::test]
async fn git_archives_and_package_managers_find_nothing_of_the_sandbox_in_the_work_tree() {
    let (bare, held) = (Area::new().bare(), Area::new());
    for area in [&bare, &held] {
        by_hand(&area.path("work"), PACKAGE);
    }
    for command in NOTHING_APPEARS {
        let case = format!("{}; {command}", toolchain());
        let expected = outcome(&bare, &case).await;
        if command.starts_with("cargo") && expected.0 == Some(127) {
            println!("NOT TRIED HERE: `cargo` is missing for this user");
            continue;
        }
        assert_eq!(expected.0, Some(0), "without a sandbox: {command}\n{}", expected.1);
        assert_eq!(outcome(&held, &case).await, expected, "{command}");
        same(&left_in(&held), &left_in(&bare), command);
        let status = |area: &Area| by_hand(&area.path("work"), "git status --porcelain --ignored && git stash list");
        assert_eq!(status(&held), status(&bare), "{command}");
    }
}

#[tokio::test]
async fn cargo_packages_and_builds_a_project_that_tracks_protected_names() {
    let area = Area::new();
    by_hand(&area.path("work"), PACKAGE);
    by_hand(
        &area.path("work"),
        "mkdir .vscode && echo '{}' > .vscode/settings.json && echo 'layout rust' > .envrc && git add -A",
    );
    let package =
        "cargo package --target-dir target --quiet --offline --allow-dirty && tar tzf target/package/x-1.0.0.crate";
    let (code, output) = outcome(&area, &format!("{}; {package}", toolchain())).await;
    if code == Some(127) {
        println!("NOT TRIED HERE: `cargo` is missing for this user");
        return;
    }
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("x-1.0.0/.envrc") && output.contains("x-1.0.0/.vscode/settings.json"), "{output}");
}

/// Compilers and interpreters, which make unusual calls.
const TOOLS: &[&str] = &[
    "mkdir t && cd t && printf 'class A { public static void main(String[] a) throws Exception { \
     java.nio.file.Files.writeString(java.nio.file.Path.of(\"x\"), \"y\"); System.out.println(1); } }' > A.java && javac A.java && java A",
    "cargo init -q --vcs none --name x c && cd c && CARGO_TARGET_DIR=$PWD/target cargo build -q --offline && ./target/debug/x",
    "python3 -c 'import os, resource, threading; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); \
     os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1); t = threading.Thread(target=print); t.start(); t.join()'",
    "nice -n 5 true && taskset -p $$ > /dev/null && renice -n 19 $$ > /dev/null && ionice -c 3 true && prlimit --pid $$ --nofile > /dev/null",
    "(sleep 5 & taskset -cp 0 $! > /dev/null && kill $!)",
];

#[tokio::test]
async fn compilers_and_runtimes_work() {
    let area = held::at_home();
    for (command, result) in TOOLS.iter().zip(area.commands(TOOLS).await) {
        assert_eq!(result.exit_code, Some(0), "{command}\n{}", result.output);
    }
}

/// Package managers make the folders of many packages at the same time, and the folder above them when it is missing.
#[tokio::test]
async fn threads_that_make_the_same_folders_at_once_are_never_refused() {
    let code = "import os, threading
def make(path):
    try:
        os.mkdir(path)
    except FileExistsError:
        pass
    except FileNotFoundError:
        make(os.path.dirname(path))
        make(path)
def write(path):
    while True:
        try:
            return open(path, 'x').close()
        except FileNotFoundError:
            make(os.path.dirname(path))
refused = []
def work(number):
    try:
        for scope in range(400):
            make(f'modules/@{scope}/package{number}')
            write(f'files/@{scope}/file{number}')
    except PermissionError as error:
        refused.append(str(error))
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(refused or 'all made', len(os.listdir('modules')), len(os.listdir('files')))";
    let result = Area::new().bash(&python(code)).await;
    assert_eq!(result.output, "all made 400 400");
}
