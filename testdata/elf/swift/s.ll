; The debug information of a small Swift program, as the Swift compiler makes it:
; linkage names of its own, a function inlined into another, instructions without a
; line, and a second unit that only names a module of headers (a .pcm file).
source_filename = "<swift-imported-modules>"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

define swiftcc i64 @"$s4main5outeryS2iF"(i64 %0) !dbg !20 {
  %2 = mul i64 %0, %0, !dbg !30
  %3 = add i64 %2, 7, !dbg !31
  %4 = xor i64 %3, %0, !dbg !32
  ret i64 %4, !dbg !33
}

define swiftcc i64 @"$s4main4DataV4SelfyACSiFZTm"(i64 %0) !dbg !24 {
  %2 = sub i64 1, %0, !dbg !34
  ret i64 %2, !dbg !34
}

define void @_start() !dbg !25 {
  ret void, !dbg !35
}

!llvm.dbg.cu = !{!1, !3}
!llvm.module.flags = !{!5, !6}
!1 = distinct !DICompileUnit(language: DW_LANG_Swift, file: !2, producer: "Swift version 6.0 (by hand)", isOptimized: true, flags: "", runtimeVersion: 6, emissionKind: FullDebug, sysroot: "/")
!2 = !DIFile(filename: "main.swift", directory: "/src")
!3 = distinct !DICompileUnit(language: DW_LANG_C99, file: !4, producer: "Swift version 6.0 (by hand)", isOptimized: true, runtimeVersion: 0, splitDebugFilename: "/cache/Shims.pcm", emissionKind: FullDebug, dwoId: 15852670688344145922)
!4 = !DIFile(filename: "Shims", directory: "/usr/lib/swift/shims")
!5 = !{i32 2, !"Debug Info Version", i32 3}
!6 = !{i32 7, !"Dwarf Version", i32 DWARF_VERSION}
!7 = !DIModule(scope: null, name: "main")
!8 = !DISubroutineType(types: !{})
!20 = distinct !DISubprogram(name: "outer", linkageName: "$s4main5outeryS2iF", scope: !7, file: !2, line: 10, type: !8, scopeLine: 10, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !1)
!21 = distinct !DISubprogram(name: "inner", linkageName: "$s4main5inneryS2iF", scope: !7, file: !2, line: 3, type: !8, scopeLine: 3, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !1)
!24 = distinct !DISubprogram(name: "Self", linkageName: "$s4main4DataV4SelfyACSiFZTm", scope: !7, file: !2, line: 20, type: !8, flags: DIFlagArtificial, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !1)
!25 = distinct !DISubprogram(linkageName: "_start", scope: !7, file: !26, type: !8, flags: DIFlagArtificial, spFlags: DISPFlagDefinition, unit: !1)
!26 = !DIFile(filename: "<compiler-generated>", directory: "")
!27 = distinct !DILocation(line: 12, column: 9, scope: !20)
!30 = !DILocation(line: 4, column: 12, scope: !21, inlinedAt: !27)
!31 = !DILocation(line: 0, scope: !21, inlinedAt: !27)
!32 = !DILocation(line: 13, column: 14, scope: !20)
!33 = !DILocation(line: 13, column: 5, scope: !20)
!34 = !DILocation(line: 0, scope: !24)
!35 = !DILocation(line: 0, scope: !25)
