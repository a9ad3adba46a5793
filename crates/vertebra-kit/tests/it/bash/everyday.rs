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

/// What a case leaves, without what tells one run from another.
#[expect(clippy::disallowed_methods, reason = "git ends by itself and prints little")]
async fn leaves(area: Area, case: &str) -> (Option<i32>, String, Vec<(String, String)>) {
    let work = area.path("work");
    let root = real(area.root.path());
    let dates = [("GIT_AUTHOR_DATE", "2020-01-01T00:00:00Z"), ("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")];
    let mut making = std::process::Command::new("bash");
    let made = making.args(["-c", PROJECT]).envs(dates).current_dir(&work).output().expect("a shell");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let variables = "export GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z HOME=$TMPDIR";
    let result = area.bash(&format!("{variables}; {case}")).await;
    let kept = |path: &str| {
        let volatile = [
            ".git/index",
            ".git/logs",
            "/index",
            "/logs/",
            "__pycache__",
            ".git/objects/pack",
            "lib/objects",
            ".package-lock.json",
        ];
        !volatile.iter().any(|part| path.contains(part)) && !path.starts_with("v/")
    };
    let left = contents(&work).into_iter().filter(|(path, _)| kept(path));
    // Objects and references are compared by their names and by what git says of them.
    let left = left.map(|(path, content)| (path.clone(), content.replace(&root, "ROOT")));
    // A program may look for news of itself on the network, and do without.
    let said = result.output.lines().filter(|line| !line.starts_with("[the sandbox blocked a name lookup"));
    let said = said.collect::<Vec<_>>().join("\n").replace(&root, "ROOT");
    (result.exit_code, said, left.collect())
}

#[tokio::test]
async fn everyday_work_leaves_the_same_files_as_without_a_sandbox() {
    for case in CASES {
        let (bare, held) = (leaves(Area::new().bare(), case).await, leaves(Area::new(), case).await);
        assert_eq!((held.0, &held.1), (bare.0, &bare.1), "{case}");
        let only = |these: &[(String, String)], those: &[(String, String)]| {
            these
                .iter()
                .filter(|entry| !those.contains(entry))
                .map(|(path, text)| format!("{path}: {text:.400}"))
                .collect::<Vec<_>>()
        };
        assert_eq!((only(&held.2, &bare.2), only(&bare.2, &held.2)), (vec![], vec![]), "{case}\n{}", held.1);
    }
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
