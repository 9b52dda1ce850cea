// hpccoder in VS Code: inline completions, verdicts on loops, fixes, hover and performance hints of
// `hpccoder lsp`.
'use strict';
const vscode = require('vscode');
const { Client } = require('./client');

const LANGUAGES = ['c', 'cpp', 'cuda', 'cuda-cpp', 'fortran', 'FortranFreeForm', 'FortranFixedForm',
    'fortran-modern', 'fortran_fixed-form'];
const SETTINGS = ['completion', 'pragma', 'perf', 'guard', 'threads', 'model', 'maxTokens', 'seconds',
    'promptSeconds'];
const FIX_ALL = 'source.fixAll.hpccoder';

let client, diagnostics, log;

function settings() {
    const own = vscode.workspace.getConfiguration('hpccoder'), out = {};
    for (const name of SETTINGS) {
        const value = own.get(name);
        if (value !== null && value !== undefined) out[name] = value;
    }
    return out;
}

function isServed(document) {
    return LANGUAGES.includes(document.languageId) && ['file', 'untitled'].includes(document.uri.scheme);
}

// ---- values of the protocol ----

function rangeOf(r) {
    return new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
}

function positionIn(document, position) {
    return { textDocument: { uri: document.uri.toString() }, position: { line: position.line, character: position.character } };
}

function diagnosticOf(d) {
    const out = new vscode.Diagnostic(rangeOf(d.range), d.message, d.severity - 1);
    out.code = d.code;
    out.source = d.source;
    out.relatedInformation = (d.relatedInformation || []).map((r) => new vscode.DiagnosticRelatedInformation(
        new vscode.Location(vscode.Uri.parse(r.location.uri), rangeOf(r.location.range)), r.message));
    return out;
}

function actionOf(a) {
    const kind = a.kind === FIX_ALL ? vscode.CodeActionKind.SourceFixAll.append('hpccoder') : vscode.CodeActionKind.QuickFix;
    const out = new vscode.CodeAction(a.title, kind);
    out.isPreferred = a.isPreferred === true;
    out.diagnostics = (a.diagnostics || []).map(diagnosticOf);
    out.edit = new vscode.WorkspaceEdit();
    for (const [uri, edits] of Object.entries(a.edit.changes))
        out.edit.set(vscode.Uri.parse(uri), edits.map((e) => new vscode.TextEdit(rangeOf(e.range), e.newText)));
    return out;
}

// ---- progress ----

const reports = new Map(); // token -> { begin(value), report(value), end() }

function createProgress({ token }) {
    let show, update = () => { };
    const ended = new Promise((resolve) => {
        show = {
            begin: (value) => vscode.window.withProgress(
                { location: vscode.ProgressLocation.Window, title: value.title, cancellable: value.cancellable },
                (progress, cancelled) => {
                    cancelled.onCancellationRequested(() => client.notify('window/workDoneProgress/cancel', { token }));
                    update = (v) => progress.report({ message: v.percentage === undefined ? '' : `${v.percentage} %` });
                    return ended;
                }),
            report: (value) => update(value),
            end: () => {
                reports.delete(token);
                resolve();
            },
        };
    });
    reports.set(token, show);
}

function progress({ token, value }) {
    const report = reports.get(token);
    if (report) report[value.kind](value);
}

// ---- the server ----

function handlers() {
    return {
        'textDocument/publishDiagnostics': (p) => diagnostics.set(vscode.Uri.parse(p.uri), p.diagnostics.map(diagnosticOf)),
        'window/logMessage': (p) => log.appendLine(p.message),
        'window/showMessage': (p) => {
            log.appendLine(p.message);
            (p.type === 1 ? vscode.window.showErrorMessage : vscode.window.showInformationMessage)(p.message);
        },
        'window/workDoneProgress/create': createProgress,
        '$/progress': progress,
        'workspace/configuration': (p) => p.items.map(() => settings()),
    };
}

// A server that ends by itself is started again only when the user wants it.
async function ended(reason) {
    client = undefined;
    diagnostics.clear();
    for (const report of [...reports.values()]) report.end();
    if (await vscode.window.showErrorMessage(`hpccoder: the server ended: ${reason}`, 'Restart')) await start();
}

function open(document) {
    if (client && isServed(document))
        client.notify('textDocument/didOpen', {
            textDocument: {
                uri: document.uri.toString(), languageId: document.languageId,
                version: document.version, text: document.getText()
            }
        });
}

async function start() {
    const own = vscode.workspace.getConfiguration('hpccoder');
    const folder = (vscode.workspace.workspaceFolders || [])[0];
    const made = new Client(own.get('executable'), own.get('arguments'), folder && folder.uri.fsPath, handlers(), ended);
    client = made;
    try {
        await made.request('initialize', {
            processId: process.pid, rootUri: folder ? folder.uri.toString() : null,
            capabilities: {
                general: { positionEncodings: ['utf-16'] }, window: { workDoneProgress: true },
                workspace: { configuration: true }, textDocument: { publishDiagnostics: { relatedInformation: true } }
            },
            initializationOptions: settings(),
        });
    } catch (error) {
        return; // `ended` reports it
    }
    made.notify('initialized', {});
    vscode.workspace.textDocuments.forEach(open);
}

async function stop() {
    const old = client;
    client = undefined;
    diagnostics.clear();
    if (old) await old.stop();
}

// ---- what VS Code asks for ----

async function ask(method, params, token) {
    try {
        return client ? await client.request(method, params, token) : null;
    } catch (error) {
        return null; // cancelled, or the server has ended
    }
}

const inline = {
    async provideInlineCompletionItems(document, position, context, token) {
        const params = { ...positionIn(document, position), context: { triggerKind: 2 } };
        const result = await ask('textDocument/inlineCompletion', params, token);
        return ((result && result.items) || []).map((i) => new vscode.InlineCompletionItem(i.insertText, rangeOf(i.range)));
    },
};

const actions = {
    async provideCodeActions(document, range, context, token) {
        const params = {
            textDocument: { uri: document.uri.toString() }, range: { start: range.start, end: range.end },
            context: { diagnostics: [], only: context.only ? [context.only.value] : undefined }
        };
        return ((await ask('textDocument/codeAction', params, token)) || []).map(actionOf);
    },
};

const hover = {
    async provideHover(document, position, token) {
        const result = await ask('textDocument/hover', positionIn(document, position), token);
        return result ? new vscode.Hover(new vscode.MarkdownString(result.contents.value)) : null;
    },
};

async function fixAll() {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const start = { line: 0, character: 0 };
    const found = await actions.provideCodeActions(editor.document, { start, end: start }, { only: { value: FIX_ALL } });
    if (found.length > 0) await vscode.workspace.applyEdit(found[found.length - 1].edit);
    else vscode.window.showInformationMessage('hpccoder: no loop gets a directive');
}

// ---- life cycle ----

function watchDocuments() {
    const name = (document) => ({ uri: document.uri.toString() });
    return [
        vscode.workspace.onDidOpenTextDocument(open),
        vscode.workspace.onDidChangeTextDocument((e) => {
            if (!client || !isServed(e.document) || e.contentChanges.length === 0) return;
            client.notify('textDocument/didChange', {
                textDocument: { ...name(e.document), version: e.document.version },
                contentChanges: e.contentChanges.map((c) => ({ range: { start: c.range.start, end: c.range.end }, text: c.text })),
            });
        }),
        vscode.workspace.onDidSaveTextDocument((d) => {
            if (client && isServed(d)) client.notify('textDocument/didSave', { textDocument: name(d) });
        }),
        vscode.workspace.onDidCloseTextDocument((d) => {
            if (client && isServed(d)) client.notify('textDocument/didClose', { textDocument: name(d) });
        }),
        vscode.workspace.onDidChangeConfiguration(async (e) => {
            if (e.affectsConfiguration('hpccoder.executable') || e.affectsConfiguration('hpccoder.arguments')) {
                await stop();
                await start();
            } else if (client && e.affectsConfiguration('hpccoder')) {
                client.notify('workspace/didChangeConfiguration', { settings: { hpccoder: settings() } });
            }
        }),
    ];
}

async function activate(context) {
    const selector = LANGUAGES.map((language) => ({ language }));
    const kinds = [vscode.CodeActionKind.QuickFix, vscode.CodeActionKind.SourceFixAll.append('hpccoder')];
    diagnostics = vscode.languages.createDiagnosticCollection('hpccoder');
    log = vscode.window.createOutputChannel('hpccoder');
    context.subscriptions.push(diagnostics, log, ...watchDocuments(),
        vscode.languages.registerInlineCompletionItemProvider(selector, inline),
        vscode.languages.registerCodeActionsProvider(selector, actions, { providedCodeActionKinds: kinds }),
        vscode.languages.registerHoverProvider(selector, hover),
        vscode.commands.registerCommand('hpccoder.fixAll', fixAll),
        vscode.commands.registerCommand('hpccoder.restart', async () => {
            await stop();
            await start();
        }));
    await start();
}

module.exports = { activate, deactivate: stop };
