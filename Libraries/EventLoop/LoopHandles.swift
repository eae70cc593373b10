import Cuv

/// The handles that a loop needs for itself. Loop only, except `wakeUp()`.
struct LoopHandles {
    private let wake = UnsafeMutablePointer<uv_async_t>.allocate(capacity: 1)
    private let idle = UnsafeMutablePointer<uv_idle_t>.allocate(capacity: 1)
    private let prepare = UnsafeMutablePointer<uv_prepare_t>.allocate(capacity: 1)

    init(_ uv: UnsafeMutablePointer<uv_loop_t>) {
        UVError.expectSuccess(
            uv_async_init(uv, wake) { Self.loop($0?.pointee.data)?.meter.beginTurn() }, "can't make an event loop")
        uv_idle_init(uv, idle)
        uv_prepare_init(uv, prepare)
    }

    /// Called before the loop's thread starts. The loop outlives its handles, because its thread holds a reference to it.
    func attach(to loop: EventLoop) {
        let pointer = Unmanaged.passUnretained(loop).toOpaque()
        wake.pointee.data = pointer
        prepare.pointee.data = pointer
        uv_prepare_start(prepare) { Self.loop($0?.pointee.data)?.meter.endTurn() }
    }

    func wakeUp() { uv_async_send(wake) }

    func startIdling() { uv_idle_start(idle) { _ in } }

    func stopIdling() { uv_idle_stop(idle) }

    func close() {
        uv_close(cuv_handle(wake), nil)
        uv_close(cuv_handle(idle), nil)
        uv_close(cuv_handle(prepare), nil)
    }

    func deallocate() {
        wake.deallocate()
        idle.deallocate()
        prepare.deallocate()
    }

    private static func loop(_ data: UnsafeMutableRawPointer?) -> EventLoop? {
        data.map { Unmanaged<EventLoop>.fromOpaque($0).takeUnretainedValue() }
    }
}
