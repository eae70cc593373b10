#if os(Linux)
    import Cpcre2
    import DocumentModel

    /// A regular expression of PCRE2.
    ///
    /// `@unchecked Sendable`: a compiled pattern is immutable (pcre2api, "Multithreading"); each match has its own data.
    final class PCRE2Regex: CompiledRegex, @unchecked Sendable {
        private let code: OpaquePointer
        private let limits: OpaquePointer

        /// The steps from one place. Enough for reasonable patterns; one with exponential backtracking ends within some milliseconds.
        private static let steps: UInt32 = 1_000_000

        init(_ expression: RegularExpression) throws(QueryError) {
            if let unserved = Self.unserved(expression.pattern) {
                throw QueryError(code: 51091, message: "Regular expression is invalid: \(unserved)")
            }
            var options = UInt32(PCRE2_UTF) | UInt32(PCRE2_NO_UTF_CHECK) | UInt32(PCRE2_USE_OFFSET_LIMIT)
            for option in expression.options {
                switch option {
                case "i": options |= UInt32(PCRE2_CASELESS)
                case "m": options |= UInt32(PCRE2_MULTILINE)
                case "s": options |= UInt32(PCRE2_DOTALL)
                case "x": options |= UInt32(PCRE2_EXTENDED)
                default: break
                }
            }
            // This optimization assumes that the rest of a pattern can't use the character of a leading lookahead again, and so
            // considers "a" too short for `(?=a)[ab]*a` (in version 10.42; found by comparison with another engine).
            if expression.pattern.utf8.count > 3, expression.pattern.contains("(?=") {
                options |= UInt32(PCRE2_NO_START_OPTIMIZE)
            }
            var fault: Int32 = 0
            var offset = 0
            var pattern = expression.pattern
            let compiled = pattern.withUTF8 { bytes in
                pcre2_compile_8(bytes.baseAddress, bytes.count, options, &fault, &offset, nil)
            }
            guard let compiled, let limits = pcre2_match_context_create_8(nil) else {
                throw QueryError(
                    code: 51091, message: "Regular expression is invalid at position \(offset): \(Self.message(fault))")
            }
            pcre2_set_match_limit_8(limits, Self.steps)
            pcre2_set_heap_limit_8(limits, 20_000)
            code = compiled
            self.limits = limits
            // Without it the interpreter gives the same result, but slower.
            _ = pcre2_jit_compile_8(compiled, UInt32(PCRE2_JIT_COMPLETE))
        }

        deinit {
            pcre2_code_free_8(code)
            pcre2_match_context_free_8(limits)
        }

        /// What a pattern has that concerns a whole search, and so can't be served window by window: the assertion of the place at which the
        /// search began, and verbs such as `(*SKIP)`; `nil` if there is nothing.
        private static func unserved(_ pattern: String) -> String? {
            var scanner = ScalarScanner(pattern)
            var isInClass = false
            while let scalar = scanner.next() {
                switch scalar {
                case "\\": if scanner.next() == "G" { return #"\G is not supported"# }
                case "[" where !isInClass:
                    isInClass = true
                    _ = scanner.skip("^")
                    _ = scanner.skip("]")
                case "]": isInClass = false
                case "(" where !isInClass && scanner.skip("*"):
                    if let next = scanner.current, next == ":" || ("A"..."Z").contains(next) {
                        return "verbs such as (*\(next)…) are not supported"
                    }
                default: break
                }
            }
            return nil
        }

        private static func message(_ code: Int32) -> String {
            var buffer = [UInt8](repeating: 0, count: 256)
            let length = pcre2_get_error_message_8(code, &buffer, buffer.count)
            return length > 0 ? String(decoding: buffer.prefix(Int(length)), as: UTF8.self) : "error \(code)"
        }

        func matches(_ text: String) throws(QueryError) -> Bool { try firstMatch(in: text, from: 0) != nil }

        /// Searches window by window, since PCRE2 limits only the steps from each place at which a match may begin: the time of a whole search
        /// can grow with the square of the text and more.
        private func search(_ text: inout String, _ offset: Int, _ data: OpaquePointer) throws(QueryError) -> Int32 {
            let length = text.utf8.count
            if length - offset < SearchWindow.first { return match(&text, offset, data, limits) }
            guard let limits = pcre2_match_context_copy_8(limits) else { throw .noMemory }
            defer { pcre2_match_context_free_8(limits) }
            // Most steps look at a character, some at the rest of the text: their number grows as long as the time allows.
            let firstSteps = min(Self.steps, max(100, UInt32(250_000_000 / length)))
            var window = SearchWindow(), start = offset, steps = firstSteps
            while true {
                let last = min(start + window.size - 1, length)
                pcre2_set_offset_limit_8(limits, last)
                pcre2_set_match_limit_8(limits, steps)
                let begun = SearchWindow.now
                let count = match(&text, start, data, limits)
                let needsSteps = count == PCRE2_ERROR_MATCHLIMIT && steps < Self.steps
                guard needsSteps || count == PCRE2_ERROR_NOMATCH && last < length else { return count }
                try QueryError.throwIfInterrupted()
                let time = SearchWindow.now - begun
                guard window.took(time, isDone: !needsSteps, next: needsSteps ? time * 8 : .zero) else {
                    throw .failedMatch("it takes longer than \(SearchWindow.limit)")
                }
                if needsSteps {
                    steps = min(steps * 8, Self.steps)
                    continue
                }
                steps = firstSteps
                start = text.withUTF8 { bytes in
                    // The next character.
                    bytes[(last + 1)...].firstIndex { $0 & 0xC0 != 0x80 } ?? bytes.count
                }
            }
        }

        /// Looks for a match that begins at an offset or after it, up to the limit.
        private func match(
            _ text: inout String, _ offset: Int, _ data: OpaquePointer, _ limits: OpaquePointer
        ) -> Int32 {
            func run(_ options: UInt32) -> Int32 {
                text.withUTF8 { bytes in
                    // An empty text may have a null address, which PCRE2 refuses.
                    withUnsafePointer(to: UInt8(0)) { empty in
                        pcre2_match_8(
                            code, bytes.baseAddress ?? empty, bytes.count, offset,
                            options | UInt32(PCRE2_NO_UTF_CHECK), data, limits)
                    }
                }
            }
            let count = run(0)
            // The interpreter uses memory from the heap, up to the limit.
            return count == PCRE2_ERROR_JIT_STACKLIMIT ? run(UInt32(PCRE2_NO_JIT)) : count
        }

        func firstMatch(in text: String, from offset: Int) throws(QueryError) -> [Range<Int>?]? {
            guard let data = pcre2_match_data_create_from_pattern_8(code, nil) else { throw .noMemory }
            defer { pcre2_match_data_free_8(data) }
            var text = text
            let count = try search(&text, offset, data)
            if count == PCRE2_ERROR_NOMATCH { return nil }
            guard count > 0 else {
                throw .failedMatch(Self.message(count))
            }
            guard let offsets = pcre2_get_ovector_pointer_8(data) else { return nil }
            return (0..<Int(pcre2_get_ovector_count_8(data))).map { index in
                let start = offsets[2 * index], end = offsets[2 * index + 1]
                // PCRE2_UNSET is the largest number; \K in a lookahead may put the end before the start.
                return index < Int(count) && start != Int.max && start >= 0 && start <= end ? start..<end : nil
            }
        }
    }

    extension QueryError {
        fileprivate static var noMemory: QueryError { .badValue("no memory for a regular expression") }

        fileprivate static func failedMatch(_ reason: String) -> QueryError {
            QueryError(code: 51156, message: "Error occurred while executing the regular expression: \(reason)")
        }
    }
#endif
