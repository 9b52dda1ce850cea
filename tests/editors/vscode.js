// Run by tests/cmd/editors.c: node vscode.js PROGRAM EXTENSION FILE
// Runs the extension in a model of VS Code: applies all fixes to FILE and saves it, completes at its
// end and accepts; then changes a setting, and kills the server.
'use strict';
const fs = require('fs');
const path = require('path');
const Module = require('module');
const [program, extension, file] = process.argv.slice(2);

class Emitter {
    constructor() {
        this.listeners = [];
        this.event = (listener) => {
            this.listeners.push(listener);
            return { dispose: () => { this.listeners = this.listeners.filter((l) => l !== listener); } };
        };
    }
    fire(value) { for (const listener of [...this.listeners]) listener(value); }
}
const Value = (...names) => class {
    constructor(...values) { names.forEach((name, k) => { this[name] = values[k]; }); }
};
class Uri {
    constructor(text) {
        this.scheme = text.split(':')[0];
        this.fsPath = decodeURIComponent(text.replace('file://', ''));
        this.text = text;
    }
    static parse(text) { return new Uri(text); }
    static file(name) { return new Uri('file://' + encodeURI(name)); }
    toString() { return this.text; }
}
class Range {
    constructor(a, b, c, d) {
        this.start = { line: a, character: b };
        this.end = { line: c, character: d };
    }
}
class Kind {
    constructor(value) { this.value = value; }
    append(more) { return new Kind(`${this.value}.${more}`); }
}
class WorkspaceEdit {
    constructor() { this.files = []; }
    set(uri, edits) { this.files.push([uri, edits]); }
}

// A document as VS Code keeps it: positions count UTF-16 units.
const document = {
    uri: Uri.file(path.resolve(file)), languageId: 'c', version: 1, text: fs.readFileSync(file, 'utf8'),
    getText() { return this.text; },
    offset(p) {
        return this.text.split('\n').slice(0, p.line).reduce((n, line) => n + line.length + 1, 0) + p.character;
    },
};
const events = {};
for (const name of ['Open', 'Change', 'Save', 'Close']) events[name] = new Emitter();
const configured = new Emitter();
const own = JSON.parse(fs.readFileSync(path.join(extension, 'package.json'), 'utf8')).contributes.configuration.properties;
const values = { executable: program, guard: false, threads: 1, maxTokens: 128, seconds: 5, promptSeconds: 1 };
const provided = {}, commands = {}, errors = [], shown = [], logged = [];
let published = [];

function edit(edits) {
    const changes = [...edits].sort((a, b) => document.offset(b.range.start) - document.offset(a.range.start));
    for (const { range, newText } of changes)
        document.text = document.text.slice(0, document.offset(range.start)) + newText + document.text.slice(document.offset(range.end));
    document.version++;
    events.Change.fire({ document, contentChanges: changes.map((c) => ({ range: c.range, text: c.newText })) });
}

const vscode = {
    Uri, Range, WorkspaceEdit, ProgressLocation: { Window: 10 },
    Diagnostic: Value('range', 'message', 'severity'), DiagnosticRelatedInformation: Value('location', 'message'),
    Location: Value('uri', 'range'), CodeAction: Value('title', 'kind'), TextEdit: Value('range', 'newText'),
    InlineCompletionItem: Value('insertText', 'range'), Hover: Value('contents'), MarkdownString: Value('value'),
    CodeActionKind: { QuickFix: new Kind('quickfix'), SourceFixAll: new Kind('source.fixAll') },
    workspace: {
        textDocuments: [document],
        getConfiguration: () => ({ get: (name) => (name in values ? values[name] : own[`hpccoder.${name}`].default) }),
        onDidOpenTextDocument: events.Open.event, onDidChangeTextDocument: events.Change.event,
        onDidSaveTextDocument: events.Save.event, onDidCloseTextDocument: events.Close.event,
        onDidChangeConfiguration: configured.event,
        applyEdit: async (e) => e.files.forEach(([, edits]) => edit(edits)),
    },
    window: {
        activeTextEditor: { document },
        createOutputChannel: () => ({ appendLine: (line) => logged.push(line), dispose: () => { } }),
        showErrorMessage: async (text) => { errors.push(text); },
        showInformationMessage: async () => { },
        withProgress: (options, task) => {
            shown.push(options.title);
            return task({ report: () => { } }, { onCancellationRequested: () => { } });
        },
    },
    languages: {
        createDiagnosticCollection: () => ({ set: (uri, list) => { published = list; }, clear: () => { published = []; }, dispose: () => { } }),
        registerInlineCompletionItemProvider: (s, p) => { provided.inline = p; return { dispose: () => { } }; },
        registerCodeActionsProvider: (s, p) => { provided.actions = p; return { dispose: () => { } }; },
        registerHoverProvider: (s, p) => { provided.hover = p; return { dispose: () => { } }; },
    },
    commands: { registerCommand: (name, run) => { commands[name] = run; return { dispose: () => { } }; } },
};
const load = Module._load;
Module._load = (name, ...more) => (name === 'vscode' ? vscode : load(name, ...more));

const never = { onCancellationRequested: () => ({ dispose: () => { } }) };
async function until(what, ready) {
    for (let k = 0; k < 1200; k++) {
        const value = await ready();
        if (value) return value;
        await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
    throw new Error(`no ${what}`);
}

async function main() {
    const hpccoder = require(path.resolve(extension, 'extension.js'));
    const context = { subscriptions: [] };
    await hpccoder.activate(context);
    await until('diagnostic', () => published.length > 0);
    const [first] = published;
    console.log(`diagnostic: ${first.message} (severity ${first.severity}, ${first.relatedInformation.length} related)`);
    const info = await provided.hover.provideHover(document, first.range.start, never);
    console.log(`hover: ${info.contents.value.split('\n')[0]}`);
    await commands['hpccoder.fixAll']();
    fs.writeFileSync(file, document.text);
    events.Save.fire(document);

    const lines = document.text.split('\n');
    const end = { line: lines.length - 1, character: lines[lines.length - 1].length };
    const [item] = await provided.inline.provideInlineCompletionItems(document, end, {}, never);
    const before = document.text;
    edit([{ range: item.range, newText: item.insertText }]);
    console.log(`accepted: ${item.insertText.length > 0 && document.text === before + item.insertText ? 'as shown' : document.text}`);
    console.log(`progress: ${shown.join('; ')}`);

    values.completion = { c: false };
    configured.fire({ affectsConfiguration: (name) => name === 'hpccoder' });
    const none = await provided.inline.provideInlineCompletionItems(document, end, {}, never);
    console.log(`disabled: ${none.length} suggestions`);

    console.log(`logged: ${logged.length}: ${logged.join('; ')}`);
    values.executable = '/no/such/hpccoder';
    configured.fire({ affectsConfiguration: (name) => name === 'hpccoder.executable' });
    await until('error', () => errors.length > 0);
    await new Promise((resolve) => { setTimeout(resolve, 300); });
    console.log(`errors: ${errors.length}: ${errors[0]}`);
    await hpccoder.deactivate();
    context.subscriptions.forEach((s) => s.dispose());
}

main().then(() => process.exit(0), (error) => {
    console.log(error.stack);
    process.exit(1);
});
