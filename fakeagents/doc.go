// Package fakeagents plays the agent CLIs: the same test binary (or
// slidewrite itself) under the name of a CLI, on PATH. It replaces the agent
// process and nothing else, so every test runs the product's own code path.
// It imports no package of the shim: what it demands of a command line is
// written down here a second time, on purpose.
//
// # A fixture
//
// One txtar per case. Its name is its path without the suffix:
//
//	claude/real/2.1.332/edit
//	<agent>/<provenance>/<CLI version>/<case>
//
// Provenance: real (written only by the recorder, with the shim's own command
// line), captured (converted from older captures with other command lines and
// unknown effects: food for mappers and fuzzers, never played), made (by hand;
// the comment says why it cannot be recorded).
//
// The comment before the first section says what happens, which CLI version
// it was, when it was recorded and what the case guards. Sections, all
// optional but stdout.jsonl and exit:
//
//	argv          JSON array, without the program's name
//	stdin         what was written: "<n> <JSON line>" or "<n> close", where n
//	              stdout lines had been read by then ("-" when unknown); or
//	              "<n> signal SIGINT", sent to the process
//	stdin.txt     plain text that was piped in, codex's prompt; of grok the
//	              user's part of the prompt file, which is no stdin
//	stdout.jsonl  every stdout line, in order
//	stdout        the same for a command that does not speak JSON lines
//	stderr        its stderr
//	exit          exit code, or "signal SIGKILL"
//	match         regular expression on the prompt that picks this case
//	knobs         key=value lines, see Knobs
//	repo/<path>   a file of the working directory before the run
//	effects       one JSON object per line, see Effect
//	disk/<path>   the CLI's own transcript after the run, relative to the
//	              project's folder
//	before/<path> the same before the run (a session to resume)
//
// An unknown section is an error.
//
// A section name may carry options after ";":
//
//	;base64       the content is base64 (binary, or it holds a line that
//	              looks like a txtar marker)
//	;nonl         the file has no newline at its end (txtar always adds one)
//	;mode=0755    permission bits, 0644 when absent
//	;symlink      the content is the target of a symbolic link
//
// In a path, bytes that txtar or the options would misread (control
// characters, "%", ";", and a space at either end) are written %XX.
//
// # Placeholders
//
// {{REPO}} {{REPO_ENC}} {{SESSION}} {{UUID:n}} {{TIME}} {{HOME}} {{TMP}} {{PORT}} {{KEY}}
// {{DATE}} {{EMAIL}} {{PARENT}} (the folder of the repository) {{DAY}} {{STAMP}} (of codex's
// files) stand for values that differ from run to run and are filled in when
// a fixture is played; {{ELIDED}} for long text of the vendor's (prompts, tool
// schemas) that no test needs; {{REPEAT:x:n}} for n times the character x,
// expanded when a fixture is loaded.
//
// # The fake
//
// Commands (for testscript.Main and the argv0 dispatch) and Main play a CLI.
// What it demands, each with exit code 2 and the reason on stderr: the command
// line of a turn flag by flag for the version it plays, nothing of the scrub
// list in the environment, the run's marker and private temporary folder, and a
// user message whose text is last and begins with a newline. Then it replays a
// fixture: waits where the CLI had been written to, makes the effects in the
// working directory right before the line that reports them, writes the
// transcript where the CLI would, answers an interrupt, ends when its input
// does. A session is resumed when its transcript exists; an unknown one is one
// error line. Of codex it demands a prompt that is piped in whole (UTF-8, not
// too long), answers SIGINT without another line, and appends to the rollout of
// a thread that is resumed. Of grok, which was never run, it demands a private prompt file
// instead of a message and dies of a signal; the session's files on disk are
// made of the lines it plays.
//
// Which fixture: EnvFixture, or the prompt (EnvVersion then says the version;
// the prompts of the scenarios are told apart on purpose). EnvKnobs makes it
// misbehave, see KnobNames; EnvLog shows what it was started with and told.
//
// # In a test
//
//	func TestMain(m *testing.M) { testscript.Main(m, fakeagents.Commands(fixtures.Corpus())) }
//
//	runs, err := fixtures.Playable("claude")   // every real and made turn
//	for _, f := range runs {
//		f.WriteRepo(dir)                        // then commit what is not ignored; no file: an unborn branch
//		f.SeedDisk(configDir, values)           // when len(f.Before) > 0: resume values.Session
//		t.Setenv(fakeagents.EnvFixture, f.Name)
//		// post f.Prompt(); when f.Interrupted(), stop the run once the turn runs
//	}
//
// A mapper alone reads f.Filled(values), of captured fixtures too.
//
// # A new case
//
// Recorded: add scriptmodel/scenarios/<name>.json and record it with each
// version ("slidewrite record --agent claude --bin PATH --run '^name$'"). By
// hand: a txtar in made/ whose comment says "Made because …". Both say
// "Guards: …".
package fakeagents
