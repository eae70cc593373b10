import CJavaScriptCore

/// A JavaScript context with its own global object, in a virtual machine. Only strings are exchanged with it; structured data is
/// passed as JSON.
///
/// Confined to the machine's thread.
public final class JavaScriptContext {
    /// A function that scripts can call with strings; it returns a string or, for `nil`, `undefined`.
    public typealias HostFunction = ([String]) -> String?

    private let machine: JavaScriptVirtualMachine
    private let context: JSGlobalContextRef
    private let hostClass: JSClassRef
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
        var definition = kJSClassDefinitionEmpty
        definition.callAsFunction = { context, function, _, count, arguments, exception in
            guard let context, let raw = JSObjectGetPrivate(function) else { return nil }
            let box = Unmanaged<Box>.fromOpaque(raw).takeUnretainedValue()
            let texts = (0..<count).map { JavaScriptText.text(arguments?[$0], in: context) ?? "" }
            guard let answer = box.function(texts) else { return JSValueMakeUndefined(context) }
            return JavaScriptText.value(answer, in: context)
        }
        definition.finalize = { object in
            if let raw = JSObjectGetPrivate(object) { Unmanaged<Box>.fromOpaque(raw).release() }
        }
        guard let hostClass = JSClassCreate(&definition), let context = JSGlobalContextCreateInGroup(machine.group, nil)
        else { throw JavaScriptError(code: .engine, message: "JavaScriptCore can't create a context") }
        self.machine = machine
        self.context = context
        self.hostClass = hostClass
    }

    deinit {
        JSGlobalContextRelease(context)
        JSClassRelease(hostClass)
    }

    /// Owned by the JavaScript object, whose finalizer releases it.
    private final class Box {
        let function: HostFunction
        init(_ function: @escaping HostFunction) { self.function = function }
    }

    /// Defines a global function that calls the host.
    public func define(_ name: String, _ function: @escaping HostFunction) {
        let object = JSObjectMake(context, hostClass, Unmanaged.passRetained(Box(function)).toOpaque())
        JavaScriptText.withString(name) {
            JSObjectSetProperty(context, JSContextGetGlobalObject(context), $0, object, 0, nil)
        }
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

    /// Compiles the body of a function, and stores the function in a global object's property without running it.
    /// - Parameters:
    ///   - parameter: the function's one parameter.
    ///   - table: the name of a global object.
    /// - Throws: code `syntax`, with the line, when the source isn't valid JavaScript.
    public func compile(
        _ body: String, name: String, parameter: String, into table: String
    ) throws(JavaScriptError) {
        // The wrapper is on the body's first line, so that line numbers are those of the body. (JSObjectMakeFunction inserts two
        // lines before it.)
        let script = "(function (\(parameter)) {\(body)\n})"
        var exception: JSValueRef?
        let function = JavaScriptText.withString(script) { script in
            JavaScriptText.withString(name) { name in
                JSCheckScriptSyntax(context, script, name, 1, &exception)
                    ? JSEvaluateScript(context, script, nil, name, 1, &exception) : nil
            }
        }
        guard let function else { throw error(exception, source: name, code: .syntax) }
        guard let table = property(table, of: JSContextGetGlobalObject(context)), JSValueIsObject(context, table) else {
            throw JavaScriptError(code: .engine, message: "no global object \(table)")
        }
        JavaScriptText.withString(name) {
            JSObjectSetProperty(context, JSValueToObject(context, table, nil), $0, function, 0, nil)
        }
    }

    /// Calls a global function with strings, and runs the resulting microtasks.
    public func call(_ function: String, _ arguments: [String]) throws(JavaScriptError) {
        try enter(function) { exception in
            guard let value = property(function, of: JSContextGetGlobalObject(context)), JSValueIsObject(context, value)
            else { return nil }
            let values: [JSValueRef?] = arguments.map { JavaScriptText.value($0, in: context) }
            return JSObjectCallAsFunction(
                context, JSValueToObject(context, value, nil), nil, values.count, values, &exception)
        }
    }

    /// Calls a global function with each promise that was rejected, and its reason, if nothing has handled the rejection by the end
    /// of the step. A handler that is attached in a later step comes too late.
    public func reportUnhandledRejections(to function: String) throws(JavaScriptError) {
        guard let value = property(function, of: JSContextGetGlobalObject(context)), JSValueIsObject(context, value)
        else { throw JavaScriptError(code: .engine, message: "no global function \(function)") }
        JSGlobalContextSetUnhandledRejectionCallback(context, JSValueToObject(context, value, nil), nil)
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
