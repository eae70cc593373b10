import CJavaScriptCore

/// A JavaScript context with its own global object, in a virtual machine. Only strings are exchanged with it; structured data is
/// passed as JSON.
///
/// Confined to the machine's thread.
public final class JavaScriptContext {
    /// A function that scripts can call with strings; it returns a string or, for `nil`, `undefined`.
    public typealias HostFunction = ([String]) -> String?
    /// What a host function returns to the script that called it.
    public enum Answer {
        case undefined
        case text(String)
        /// The value of a source, evaluated in the script's context.
        case value(of: JavaScriptSource)
    }

    private let machine: JavaScriptVirtualMachine
    private let context: JSGlobalContextRef
    /// The object with the functions that `call` calls; `nil`: the global object.
    private var entries: JSObjectRef?
    private var reportsRejections = false
    /// The CPU time of scripts in this context, in seconds.
    public private(set) var cpuTime = 0.0
    /// The CPU time after which a script is ended, in seconds. It may be changed while the script runs.
    public var cpuLimit = Double.infinity {
        didSet { if isEntered { machine.watchdog.deadline += cpuLimit - oldValue } }
    }
    private var isEntered = false
    /// The bytes by which the process's resident memory grew while scripts of this context ran. What they released later, while
    /// others ran, isn't subtracted.
    public private(set) var memoryGrowth = 0

    public init(_ machine: JavaScriptVirtualMachine) throws(JavaScriptError) {
        guard let context = JSGlobalContextCreateInGroup(machine.group, nil)
        else { throw JavaScriptError(code: .engine, message: "JavaScriptCore can't create a context") }
        self.machine = machine
        self.context = context
    }

    deinit {
        // The context owns a handle of the function that it calls for rejections, and that function owns the context: with it, the context
        // would never be freed.
        if reportsRejections, let nothing = machine.nothing {
            JSGlobalContextSetUnhandledRejectionCallback(context, nothing, nil)
        }
        if let entries { JSValueUnprotect(context, entries) }
        JSGlobalContextRelease(context)
    }

    /// Owned by the JavaScript object, whose finalizer releases it.
    private final class Box {
        let function: ([String]) -> Answer
        init(_ function: @escaping ([String]) -> Answer) { self.function = function }
    }

    /// The class of functions that call the host. Unsafe: the pointer is made once, never changed and never released, and
    /// JavaScriptCore may use a class on any thread.
    private nonisolated(unsafe) static let hostClass: JSClassRef? = {
        var definition = kJSClassDefinitionEmpty
        // Otherwise each context would have a prototype of its own for it.
        definition.attributes = JSClassAttributes(kJSClassAttributeNoAutomaticPrototype)
        definition.callAsFunction = { context, function, _, count, arguments, exception in
            guard let context, let raw = JSObjectGetPrivate(function) else { return nil }
            let box = Unmanaged<Box>.fromOpaque(raw).takeUnretainedValue()
            let texts = (0..<count).map { JavaScriptText.text(arguments?[$0], in: context) ?? "" }
            switch box.function(texts) {
            case .undefined: return JSValueMakeUndefined(context)
            case .text(let text): return JavaScriptText.value(text, in: context)
            case .value(let source): return JSScriptEvaluate(context, source.script, nil, exception)
            }
        }
        definition.finalize = { object in
            if let raw = JSObjectGetPrivate(object) { Unmanaged<Box>.fromOpaque(raw).release() }
        }
        return JSClassCreate(&definition)
    }()

    private func object(of function: @escaping ([String]) -> Answer) -> JSObjectRef {
        JSObjectMake(context, Self.hostClass, Unmanaged.passRetained(Box(function)).toOpaque())
    }

    /// Defines a global function that calls the host.
    public func define(_ name: String, _ function: @escaping HostFunction) {
        let object = object { words in function(words).map { .text($0) } ?? .undefined }
        JavaScriptText.withString(name) {
            JSObjectSetProperty(context, JSContextGetGlobalObject(context), $0, object, 0, nil)
        }
    }

    /// Evaluates a source whose value is a function, and calls that with a function that calls the host. It returns an object with the
    /// functions that `call` calls from then on; scripts have access to none of these. Its time and memory are neither limited nor counted
    /// for the context.
    public func begin(
        with source: JavaScriptSource, host: @escaping ([String]) -> Answer
    ) throws(JavaScriptError) {
        var exception: JSValueRef?
        var value: JSValueRef?
        if let function = JSScriptEvaluate(context, source.script, nil, &exception) {
            let arguments = Kept([object(of: host)], in: context)
            value = call(function, arguments, &exception)
        }
        if exception != nil { throw error(exception, source: source.name, code: .exception) }
        guard let value, JSValueIsObject(context, value), let entries = JSValueToObject(context, value, nil) else {
            throw JavaScriptError(code: .engine, message: "\(source.name) returns no object")
        }
        JSValueProtect(context, entries)
        self.entries = entries
    }

    /// Runs a script.
    /// - Parameter name: the name of the source in errors.
    public func evaluate(_ source: String, name: String) throws(JavaScriptError) {
        try enter(name) { exception in
            JavaScriptText.withString(source) { script in
                JavaScriptText.withString(name) { JSEvaluateScript(context, script, nil, $0, 1, &exception) }
            }
        }
    }

    /// Runs a script that was parsed before.
    public func evaluate(_ source: JavaScriptSource) throws(JavaScriptError) {
        try enter(source.name) { JSScriptEvaluate(context, source.script, nil, &$0) }
    }

    /// Calls a global function, or one of those of `begin`, with strings, and runs the resulting microtasks.
    public func call(_ function: String, _ arguments: [String]) throws(JavaScriptError) {
        try enter(function) { exception in
            guard let value = property(function, of: callables), JSValueIsObject(context, value) else { return nil }
            return call(
                value, Kept(arguments.lazy.map { [context] in JavaScriptText.value($0, in: context) }, in: context),
                &exception)
        }
    }

    private func call(_ function: JSValueRef, _ arguments: borrowing Kept, _ exception: inout JSValueRef?)
        -> JSValueRef?
    {
        JSObjectCallAsFunction(
            context, JSValueToObject(context, function, nil), nil, arguments.values.count, arguments.values, &exception)
    }

    /// Values that the engine keeps as long as this exists. Its collector, which has threads of its own, finds what is on a stack, but
    /// nothing in Swift's heap, such as the elements of an array.
    private struct Kept: ~Copyable {
        private(set) var values: [JSValueRef?] = []
        private let context: JSGlobalContextRef

        /// - Parameter values: made one after the other, each kept before the next one is made.
        init(_ values: some Sequence<JSValueRef?>, in context: JSGlobalContextRef) {
            self.context = context
            for value in values {
                JSValueProtect(context, value)
                self.values.append(value)
            }
        }

        deinit { for value in values { JSValueUnprotect(context, value) } }
    }

    private var callables: JSObjectRef? { entries ?? JSContextGetGlobalObject(context) }

    /// Calls a function, as `call` does, with each promise that was rejected, and its reason, if nothing has handled the rejection by the
    /// end of the step. A handler that is attached in a later step comes too late.
    public func reportUnhandledRejections(to function: String) throws(JavaScriptError) {
        guard let value = property(function, of: callables), JSValueIsObject(context, value)
        else { throw JavaScriptError(code: .engine, message: "no function \(function)") }
        JSGlobalContextSetUnhandledRejectionCallback(context, JSValueToObject(context, value, nil), nil)
        reportsRejections = true
    }

    private func enter(_ name: String, _ body: (inout JSValueRef?) -> JSValueRef?) throws(JavaScriptError) {
        var exception: JSValueRef?
        isEntered = true
        let (result, use) = machine.watchdog.watch(budget: cpuLimit - cpuTime) { body(&exception) }
        isEntered = false
        cpuTime += use.time
        memoryGrowth = max(0, memoryGrowth + use.growth)
        if let verdict = use.verdict {
            try forgetEnd()
            switch verdict {
            case .cpu: throw JavaScriptError(code: .cpuLimit, message: "the CPU time limit is used up")
            case .memory: throw JavaScriptError(code: .memoryLimit, message: "the memory limit is used up")
            }
        }
        if result == nil || exception != nil { throw error(exception, source: name, code: .exception) }
    }

    /// After a limit has ended a script, the next entry into the machine may be ended, too, whatever context it is of (observed with
    /// 2.50.6). So it is made here.
    private func forgetEnd() throws(JavaScriptError) {
        for _ in 0..<16 {
            var exception: JSValueRef?
            let result = JavaScriptText.withString("0") { JSEvaluateScript(context, $0, nil, nil, 1, &exception) }
            if result != nil, exception == nil { return }
        }
        throw JavaScriptError(code: .engine, message: "the engine doesn't go on after it has ended a script")
    }

    private func property(_ name: String, of object: JSObjectRef?) -> JSValueRef? {
        JavaScriptText.withString(name) { JSObjectGetProperty(context, object, $0, nil) }
    }

    private func error(_ exception: JSValueRef?, source: String, code: JavaScriptError.Code) -> JavaScriptError {
        guard let exception else { return JavaScriptError(code: code, message: "no such function: \(source)") }
        var error = JavaScriptError(
            code: code, message: JavaScriptText.text(exception, in: context) ?? "an exception without text")
        guard JSValueIsObject(context, exception), let object = JSValueToObject(context, exception, nil) else {
            return error
        }
        func text(_ name: String) -> String? {
            guard let value = property(name, of: object), !JSValueIsUndefined(context, value) else { return nil }
            return JavaScriptText.text(value, in: context)
        }
        error.source = text("sourceURL") ?? source
        error.line = text("line").flatMap { Int($0) }
        error.stack = text("stack")
        return error
    }
}
