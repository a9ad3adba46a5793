//! Scripts that load code from elsewhere, and scripts that do not.

use std::path::Path;

fn found(name: &str, text: &str) -> Vec<String> {
    super::super::scan::reported(Path::new("/p/.vertebra/hooks"), Path::new(name), text.as_bytes(), Path::new("/p"))
}

#[test]
fn a_script_that_loads_from_where_an_agent_writes_is_reported() {
    for (name, text) in [
        ("c.py", "import sys\nsys.path.insert(0, '')\nimport json\n"),
        ("c.py", "import sys\nsys.path.insert(0, \".\")\n"),
        ("c.py", "import os, sys\nsys.path.insert(0, os.getcwd())\n"),
        ("c.py", "import os, sys\nsys.path.append(os.environ['CLAUDE_PROJECT_DIR'])\n"),
        ("c.py", "import sys\nsys.path[0:0] = ['lib']\n"),
        ("c.py", "import sys\nsys.path += ['.']\n"),
        ("c.py", "import sys\nsys.path = ['.'] + sys.path\n"),
        ("c.py", "import sys as s\ns.path.insert(0, '')\n"),
        ("c.py", "from sys import path\npath.insert(0, '')\n"),
        ("c.py", "import sys\np = sys.path\np.insert(0, '')\n"),
        ("c.py", "import sys\nd = '.'\nsys.path.insert(0, d)\n"),
        ("c.py", "import sys\nsys.path.insert(0, f'{os.getcwd()}/lib')\n"),
        ("c.py", "import sys\nsys.path.insert(0, '/p/lib')\n"),
        ("c.py", "import sys, pathlib\nsys.path.insert(\n    0,\n    str(pathlib.Path.cwd()),\n)\n"),
        ("c.py", "import site\nsite.addsitedir('.')\n"),
        ("c.py", "import runpy\nrunpy.run_path('rules.py')\n"),
        ("c.py", "import importlib.util as u\nu.spec_from_file_location('rules', 'rules.py')\n"),
        ("c.py", "exec(open('rules.py').read())\n"),
        ("c.py", "import pickle\npickle.load(open('cache', 'rb'))\n"),
        ("c.py", "import ctypes\nctypes.CDLL('./x.so')\n"),
        ("c.py", "import subprocess\nsubprocess.run(['npm', 'test'], check=True)\n"),
        ("c.py", "import subprocess\nsubprocess.run('make lint', shell=True)\n"),
        ("c.py", "import subprocess\nsubprocess.check_output(['./check.sh'])\n"),
        ("c.py", "import os\nos.system('./check.sh')\n"),
        ("c.py", "import os\nos.environ['PYTHONPATH'] = '.'\n"),
        ("c.py", "import subprocess\nsubprocess.run(['x'], env=dict(os.environ, PYTHONPATH='.'))\n"),
        ("c.py", "import os\nos.environ['PATH'] = '.:' + os.environ['PATH']\n"),
        ("check", "import sys\nsys.path.insert(0, '')\n"),
        ("c.js", "require(process.cwd() + '/rules.js')\n"),
        ("c.js", "require(`${process.cwd()}/rules.js`)\n"),
        ("c.js", "const r = require(path.join(process.env.CLAUDE_PROJECT_DIR, 'r.js'))\n"),
        ("c.js", "require(path.resolve('rules.js'))\n"),
        ("c.js", "const f = process.argv[2]\nrequire(f)\n"),
        ("c.js", "module.paths.push('lib')\n"),
        ("c.js", "module.paths.unshift(process.cwd())\n"),
        ("c.mjs", "const rules = await import(process.cwd() + '/rules.mjs')\n"),
        ("c.mjs", "import rules from '/p/rules.mjs'\n"),
        ("c.mjs", "const require = createRequire(process.cwd() + '/')\n"),
        ("c.ts", "eval(fs.readFileSync('rules.js', 'utf8'))\n"),
        ("c.ts", "new Function(text)()\n"),
        ("c.js", "vm.runInThisContext(fs.readFileSync('r.js'))\n"),
        ("c.js", "execSync('npm test')\n"),
        ("c.js", "spawn('npm', ['test'], { stdio: 'inherit' })\n"),
        ("c.js", "new Worker('./w.js')\n"),
        ("c.js", "process.env.NODE_PATH = 'lib'\n"),
        ("c.rb", "$:.unshift '.'\nrequire 'rules'\n"),
        ("c.rb", "$LOAD_PATH << Dir.pwd\n"),
        ("c.rb", "$:.unshift(File.expand_path('lib'))\n"),
        ("c.rb", "require './rules'\n"),
        ("c.rb", "require File.join(Dir.pwd, 'rules')\n"),
        ("c.rb", "load 'rules.rb'\n"),
        ("c.rb", "require 'bundler/setup'\n"),
        ("c.rb", "eval File.read('rules.rb')\n"),
        ("c.rb", "system 'rake'\n"),
        ("c.rb", "x = `make lint`\n"),
        ("c.pl", "use lib '.';\nuse Rules;\n"),
        ("c.pl", "use lib qw(lib .);\n"),
        ("c.pl", "use Cwd;\nuse lib getcwd();\n"),
        ("c.pl", "BEGIN { unshift @INC, '.'; }\n"),
        ("c.pl", "push(@INC, $ENV{CLAUDE_PROJECT_DIR});\n"),
        ("c.pl", "require './rules.pl';\n"),
        ("c.pl", "do './rules.pl';\n"),
        ("c.pl", "do $file;\n"),
        ("c.pl", "eval `cat rules.pl`;\n"),
        ("c.pl", "system('make', 'lint');\n"),
    ] {
        assert!(!found(name, text).is_empty(), "{text}");
    }
}

#[test]
fn a_script_that_loads_what_is_beside_it_is_not_reported() {
    for (name, text) in [
        ("c.py", "import json, os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nimport helper\n"),
        (
            "c.py",
            "import sys\nfrom pathlib import Path\nHERE = Path(__file__).resolve().parent\nsys.path.insert(0, str(HERE / 'lib'))\n",
        ),
        (
            "c.py",
            "import os, sys\nsys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))\n",
        ),
        ("c.py", "import sys\nsys.path.append('/opt/tools/lib')\n"),
        ("c.py", "# sys.path.insert(0, '')\nimport re\nx = re.compile('x')\nprint(sys.path)\n"),
        (
            "c.py",
            "import ast, subprocess\nast.literal_eval('1')\nsubprocess.run(['git', 'diff'], cwd=x)\nsubprocess.run(cmd)\n",
        ),
        (
            "c.py",
            "import os, subprocess\npath = os.environ.get('PATH', '')\nsubprocess.run([sys.executable, helper])\n",
        ),
        ("c.py", "import os\nos.environ['PATH'] = '/usr/bin:' + os.environ['PATH']\nmodel.eval()\n"),
        ("c.js", "const x = require('./lib/x'), fs = require('node:fs'), y = require('left-pad')\n"),
        ("c.js", "const x = require(path.join(__dirname, 'lib', 'x.js'))\n"),
        ("c.js", "const found = /x/.exec(text)\nconst env = { PATH: process.env.PATH }\n"),
        ("c.mjs", "import fs from 'node:fs'\nimport x from './x.mjs'\nconst y = await import('./y.mjs')\n"),
        ("c.mjs", "const require = createRequire(import.meta.url)\nnew Worker(new URL('./w.js', import.meta.url))\n"),
        ("c.ts", "import { execSync } from 'node:child_process'\nexecSync('git diff --name-only')\n"),
        ("c.rb", "require 'json'\nrequire_relative 'helper'\n$:.unshift File.dirname(__FILE__)\n"),
        ("c.rb", "$LOAD_PATH.unshift __dir__ unless $LOAD_PATH.include?(__dir__)\nJSON.load(STDIN)\n"),
        ("c.pl", "use strict;\nuse FindBin;\nuse lib \"$FindBin::Bin/lib\";\nuse JSON::PP;\nrequire Foo::Bar;\n"),
        ("c.pl", "use FindBin qw($Bin);\nuse lib $Bin;\neval { require 'y.pl' };\ndo { 1 } while 0;\n"),
        ("words.txt", "sys.path.insert(0, '')\n"),
    ] {
        assert_eq!(found(name, text), Vec::<String>::new(), "{text}");
    }
}
