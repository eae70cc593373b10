import DocumentModel
import QueryLanguage

/// Warns of what functions use by name and what isn't there: parts of `context`, methods of collections, globals, stages and operators that
/// aren't served, and functions and values that the app doesn't have.
///
/// A name counts only where the script shows what it belongs to. So a collection is what `.db(…).collection(…)` returns, or a variable to
/// which that is assigned: other objects have a `watch`, too.
struct UnservedCalls {
    let definition: AppDefinition
    let log: ProblemLog

    /// The most bytes of a source that is looked through; the largest of exports have a quarter of it.
    private static let sizeLimit = 1 << 18
    /// The most warnings for a function.
    private static let countLimit = 20
    private static let roots = ["context", "BSON", "EJSON", "utils"]

    func report() {
        for function in definition.functions {
            guard function.source.utf8.count <= Self.sizeLimit else {
                log.add(
                    .functionNotChecked, severity: .warning, file: function.file,
                    "it has more than \(Self.sizeLimit) bytes, so that it isn't searched for what isn't served: divide it"
                )
                continue
            }
            var search = Search(function, of: definition)
            search.run()
            for found in search.found.prefix(Self.countLimit) {
                log.add(
                    found.code, severity: .warning, file: function.file, line: function.line(found.line), found.message)
            }
            if search.found.count > Self.countLimit {
                log.add(
                    .featureNotServed, severity: .warning, file: function.file,
                    "\(search.found.count - Self.countLimit) more names that it uses aren't there: change those above, and check again"
                )
            }
        }
    }

    /// The search through one source.
    private struct Search {
        private let definition: AppDefinition
        private let tokens: ScriptTokens
        private(set) var found: [(code: DefinitionProblem.Code, line: Int, message: String)] = []
        /// What was found, since a name is reported once.
        private var names: Set<ExactText> = []
        /// Whether it has a `$search`, whose operators have no `$` in their names.
        private let isSearching: Bool

        init(_ function: FunctionDefinition, of definition: AppDefinition) {
            self.definition = definition
            tokens = ScriptTokens(ScriptText(function.source))
            isSearching = function.source.containsBytes(of: "$search")
        }

        mutating func run() {
            for root in UnservedCalls.roots { searchMembers(of: root) }
            searchCollections()
            searchCalls()
            searchGlobals()
            searchQueries()
            found.sort { $0.line < $1.line }
        }

        private mutating func add(
            _ name: String, at index: Int, as code: DefinitionProblem.Code = .featureNotServed, _ message: String
        ) {
            guard names.insert(ExactText(name)).inserted else { return }
            found.append((code, tokens.tokens[index].line, message))
        }

        private mutating func addMember(_ index: Int, of object: String) {
            let name = tokens.text(index)
            guard FunctionNames.served[ExactText(object)]?.contains(ExactText(name)) == false else { return }
            add(
                "\(object).\(name)", at: index,
                "\(object.replacing("()", with: "")).\(name) isn't served: \(FunctionNames.remedy(for: name, of: object))"
            )
        }

        private mutating func searchMembers(of root: String) {
            let places = tokens.places(of: root)
            guard !places.isEmpty, !tokens.declares(root) else { return }
            for place in places {
                var (object, index) = (root, place)
                while let member = tokens.member(after: index), FunctionNames.served[ExactText(object)] != nil {
                    addMember(member, of: object)
                    (object, index) = ("\(object).\(tokens.text(member))", member)
                }
            }
        }

        /// The methods of what `.db(…)` and `.collection(…)` return.
        private mutating func searchCollections() {
            let tokens = tokens
            let databases = searchResults(of: "db", as: "db()") { _ in true }
            let collections = searchResults(of: "collection", as: "collection()") { place in
                // Other libraries have a `collection`, too.
                let before = tokens.has("?", at: place - 2) ? place - 3 : place - 2
                guard before >= 0 else { return false }
                if tokens.has(")", at: before), let open = tokens.tokens[before].partner {
                    return tokens.has("db", at: open - 1)
                }
                return databases.contains(ExactText(tokens.text(before)))
            }
            for (variables, object) in [(databases, "db()"), (collections, "collection()")] {
                guard !variables.isEmpty else { continue }
                for place in tokens.tokens.indices
                where tokens.tokens[place].isName && !tokens.has(".", at: place - 1) {
                    guard let member = tokens.member(after: place), tokens.has("(", at: member + 1),
                        variables.contains(ExactText(tokens.text(place)))
                    else { continue }
                    addMember(member, of: object)
                }
            }
        }

        /// Looks at what is called of the results of a method.
        /// - Returns: the variables that results are assigned to.
        private mutating func searchResults(
            of method: StaticString, as object: String, where isMeant: (Int) -> Bool
        ) -> Set<ExactText> {
            var variables: Set<ExactText> = []
            for place in tokens.tokens.indices where tokens.has(method, at: place) && tokens.has(".", at: place - 1) {
                guard let end = tokens.endOfCall(place), isMeant(place) else { continue }
                if let member = tokens.member(after: end) {
                    if tokens.has("(", at: member + 1) { addMember(member, of: object) }
                } else if let variable = tokens.variable(ofExpressionWith: place) {
                    variables.insert(ExactText(variable))
                }
            }
            return variables
        }

        /// The names of functions and values, where the script has them as texts.
        private mutating func searchCalls() {
            guard !tokens.declares("context") else { return }
            for place in tokens.places(of: "context") {
                guard let part = tokens.member(after: place), let method = tokens.member(after: part),
                    tokens.has("(", at: method + 1), let name = tokens.literal(at: method + 2),
                    // Not the beginning of an expression.
                    [",", ")"].contains(where: { tokens.has($0, at: method + 4) })
                else { continue }
                if tokens.has("functions", at: part), tokens.has("execute", at: method),
                    definition.function(name) == nil
                {
                    add(
                        "function \(name)", at: place, as: .functionUnknown,
                        "it calls \(name), which isn't a function of the app: add it, or correct the name")
                }
                if tokens.has("values", at: part), tokens.has("get", at: method),
                    !definition.values.contains(where: { $0.name.hasSameBytes(as: name) })
                {
                    add(
                        "value \(name)", at: place, as: .valueUnknown,
                        "the app has no value \(name), so that it is undefined: add it, or correct the name")
                }
            }
        }

        private mutating func searchGlobals() {
            for name in FunctionNames.unservedGlobals.sortedTexts {
                guard
                    let place = tokens.places(of: name).first(where: {
                        tokens.has("(", at: $0 + 1) || tokens.has(".", at: $0 + 1) || tokens.has("new", at: $0 - 1)
                    }), !tokens.declares(name)
                else { continue }
                let remedy =
                    name.hasSameBytes(as: "fetch") || name.hasSameBytes(as: "XMLHttpRequest")
                    ? "use context.http, or a package such as axios" : "leave it out"
                add(name, at: place, "\(name) isn't served: \(remedy)")
            }
        }

        /// Stages and operators, which are the names of fields, and variables of expressions, which are texts.
        private mutating func searchQueries() {
            let (code, bare) = (tokens.script.code, tokens.script.bare)
            var at = 0
            while at < code.count {
                guard isSearching ? ScriptText.isName(code[at]) : code[at] == UInt8(ascii: "$") else {
                    at += 1
                    continue
                }
                let start = at
                while at < code.count, ScriptText.isName(code[at]) { at += 1 }
                let before = start > 0 ? code[start - 1] : 0x20
                let isText = [UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`")].contains(before)
                // A quote inside of a text is blank there.
                if isText ? bare[start - 1] != before : bare[start] != code[start] || ScriptText.isName(before) {
                    continue
                }
                let name = String(decoding: code[start..<at], as: UTF8.self)
                let isVariable = isText && name.startsWithBytes(of: "$$")
                guard isVariable || isField(from: at, in: code, isText ? before : nil) else { continue }
                if UnservedNames.contains(name) || FunctionNames.unservedSearches.contains(ExactText(name)) {
                    add(name, line: tokens.script.line(at: start))
                }
            }
        }

        /// Whether a colon follows, after the quote that ends a text.
        private func isField(from end: Int, in code: [UInt8], _ quote: UInt8?) -> Bool {
            var at = end
            if let quote {
                guard at < code.count, code[at] == quote else { return false }
                at += 1
            }
            while at < code.count, ScriptText.isSpace(code[at]) || code[at] == UInt8(ascii: "]") { at += 1 }
            return at < code.count && code[at] == UInt8(ascii: ":")
        }

        private mutating func add(_ name: String, line: Int) {
            guard names.insert(ExactText(name)).inserted else { return }
            let isVector = ["$vectorSearch", "knnBeta", "vectorSearch"].containsExactly(name)
            let remedy =
                switch name {
                case _ where isVector: "search for words with $search, or call a service for vectors with context.http"
                case "$where", "$function", "$accumulator": "use $expr, or compute it in the function"
                case "$changeStream": "write a database trigger"
                default: "the call throws; write it without this"
                }
            found.append((.featureNotServed, line, "\(name) isn't served: \(remedy)"))
        }
    }
}
