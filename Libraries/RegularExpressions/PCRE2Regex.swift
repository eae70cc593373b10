#if os(Linux)
    import Cpcre2
    import DocumentModel

    /// A regular expression of PCRE2.
    ///
    /// `@unchecked Sendable`: a compiled pattern is immutable (pcre2api, "Multithreading"); each match has its own data.
    final class PCRE2Regex: CompiledRegex, @unchecked Sendable {
        private let code: OpaquePointer
        private let limits: OpaquePointer

        init(_ expression: RegularExpression) throws(QueryError) {
            var options = UInt32(PCRE2_UTF) | UInt32(PCRE2_NO_UTF_CHECK)
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
            // Enough for reasonable patterns on long texts; a pattern with exponential backtracking ends within some tens of
            // milliseconds.
            pcre2_set_match_limit_8(limits, 1_000_000)
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

        private static func message(_ code: Int32) -> String {
            var buffer = [UInt8](repeating: 0, count: 256)
            let length = pcre2_get_error_message_8(code, &buffer, buffer.count)
            return length > 0 ? String(decoding: buffer.prefix(Int(length)), as: UTF8.self) : "error \(code)"
        }

        func matches(_ text: String) throws(QueryError) -> Bool { try firstMatch(in: text, from: 0) != nil }

        private func match(_ text: inout String, _ offset: Int, _ options: UInt32, _ data: OpaquePointer) -> Int32 {
            text.withUTF8 { bytes in
                // An empty text may have a null address, which PCRE2 refuses.
                withUnsafePointer(to: UInt8(0)) { empty in
                    pcre2_match_8(code, bytes.baseAddress ?? empty, bytes.count, offset, options, data, limits)
                }
            }
        }

        func firstMatch(in text: String, from offset: Int) throws(QueryError) -> [Range<Int>?]? {
            guard let data = pcre2_match_data_create_from_pattern_8(code, nil) else {
                throw .badValue("no memory for a regular expression")
            }
            defer { pcre2_match_data_free_8(data) }
            var text = text
            var count = match(&text, offset, UInt32(PCRE2_NO_UTF_CHECK), data)
            if count == PCRE2_ERROR_JIT_STACKLIMIT {
                // The interpreter uses memory from the heap, up to the limit.
                count = match(&text, offset, UInt32(PCRE2_NO_UTF_CHECK) | UInt32(PCRE2_NO_JIT), data)
            }
            if count == PCRE2_ERROR_NOMATCH { return nil }
            guard count > 0 else {
                throw QueryError(
                    code: 51156,
                    message: "Error occurred while executing the regular expression: \(Self.message(count))")
            }
            guard let offsets = pcre2_get_ovector_pointer_8(data) else { return nil }
            return (0..<Int(pcre2_get_ovector_count_8(data))).map { index in
                let start = offsets[2 * index], end = offsets[2 * index + 1]
                // PCRE2_UNSET is the largest number; \K in a lookahead may put the end before the start.
                return index < Int(count) && start != Int.max && start >= 0 && start <= end ? start..<end : nil
            }
        }
    }
#endif
