use super::super::Demangler;
use super::*;

/// Names of node, libLLVM-14, libtorch_cpu and libstdc++, and some made up, as
/// `c++filt -i` 2.40 and `llvm-cxxfilt` 19 print them.
#[test]
fn names_are_spelled_as_the_tools_spell_them() {
    let mut gnu = Demangler::new(true);
    let mut llvm = Demangler::spelling(true, Spelling::Llvm);
    for (name, as_gnu, as_llvm) in [
        (
            "_ZN5torch2nn11ConvOptionsILm3EE4biasERKb",
            "torch::nn::ConvOptions<3ul>::bias(bool const&)",
            "torch::nn::ConvOptions<3ul>::bias(bool const&)",
        ),
        ("_Z1fILin3EEvv", "void f<-3>()", "void f<-3>()"),
        ("_Z1fILc65EEvv", "void f<(char)65>()", "void f<(char)65>()"),
        (
            "_Z1fILb1ELj2ELx3ELy4EEvv",
            "void f<true, 2u, 3ll, 4ull>()",
            "void f<true, 2u, 3ll, 4ull>()",
        ),
        (
            "_ZTIN4llvm10ilist_nodeINS_11IVStrideUseEJEEE",
            "typeinfo for llvm::ilist_node<llvm::IVStrideUse>",
            "typeinfo for llvm::ilist_node<llvm::IVStrideUse>",
        ),
        (
            "_ZTIN4llvm6detail9PassModelINS_8FunctionENS_7DCEPassENS_17PreservedAnalysesENS_15AnalysisManagerIS2_JEEEJEEE",
            "typeinfo for llvm::detail::PassModel<llvm::Function, llvm::DCEPass, llvm::PreservedAnalyses, llvm::AnalysisManager<llvm::Function>>",
            "typeinfo for llvm::detail::PassModel<llvm::Function, llvm::DCEPass, llvm::PreservedAnalyses, llvm::AnalysisManager<llvm::Function>>",
        ),
        (
            "_ZNSt6vectorIS_IiSaIiEESaIS1_EED1Ev",
            "std::vector<std::vector<int, std::allocator<int> >, std::allocator<std::vector<int, std::allocator<int> > > >::~vector()",
            "std::vector<std::vector<int, std::allocator<int>>, std::allocator<std::vector<int, std::allocator<int>>>>::~vector()",
        ),
        (
            "_ZTIFRN2at6TensorES1_lE",
            "typeinfo for at::Tensor& (at::Tensor&, long)",
            "typeinfo for at::Tensor& (at::Tensor&, long)",
        ),
        (
            "_ZTIFN2at6TensorES0_dlE",
            "typeinfo for at::Tensor (at::Tensor, double, long)",
            "typeinfo for at::Tensor (at::Tensor, double, long)",
        ),
        (
            "_ZNKR3c106IValue9toStorageEv",
            "c10::IValue::toStorage() const &",
            "c10::IValue::toStorage() const &",
        ),
        ("_ZNO3c106IValue8toTensorEv", "c10::IValue::toTensor() &&", "c10::IValue::toTensor() &&"),
        (
            "_ZTSZN4c10d7Reducer13autograd_hookEmEUlRT_E_",
            "typeinfo name for c10d::Reducer::autograd_hook(unsigned long)::{lambda(auto:1&)#1}",
            "typeinfo name for c10d::Reducer::autograd_hook(unsigned long)::'lambda'(auto&)",
        ),
        (
            "_ZZZ9umtx_initENKUlvE0_clEvE7storage",
            "umtx_init::{lambda()#2}::operator()() const::storage",
            "umtx_init::'lambda0'()::operator()() const::storage",
        ),
        (
            "_ZTCN2v88internal8OFStreamE0_So",
            "construction vtable for std::ostream-in-v8::internal::OFStream",
            "construction vtable for std::ostream-in-v8::internal::OFStream",
        ),
        (
            "_ZThn56_N4node6crypto7TLSWrap8ReadStopEv.cold",
            "non-virtual thunk to node::crypto::TLSWrap::ReadStop() [clone .cold]",
            "non-virtual thunk to node::crypto::TLSWrap::ReadStop() (.cold)",
        ),
        (
            "_ZNSoC1Ev",
            "std::basic_ostream<char, std::char_traits<char> >::basic_ostream()",
            "std::basic_ostream<char, std::char_traits<char>>::basic_ostream()",
        ),
        ("_ZNSirsERb", "std::istream::operator>>(bool&)", "std::istream::operator>>(bool&)"),
        (
            "_ZN2v88internal3Map8MapPrintERSo",
            "v8::internal::Map::MapPrint(std::ostream&)",
            "v8::internal::Map::MapPrint(std::ostream&)",
        ),
        ("_ZTIDn", "typeinfo for decltype(nullptr)", "typeinfo for std::nullptr_t"),
        (
            "_ZN4llvm12hash_combineIJhhjEEENS_9hash_codeEDpRKT_",
            "llvm::hash_code llvm::hash_combine<unsigned char, unsigned char, unsigned int>(unsigned char const&, unsigned char const&, unsigned int const&)",
            "llvm::hash_code llvm::hash_combine<unsigned char, unsigned char, unsigned int>(unsigned char const&, unsigned char const&, unsigned int const&)",
        ),
        (
            "_ZN1aC1IJRA4_KciEEEDpOT_",
            "a::a<char const (&) [4], int>(char const (&) [4], int&&)",
            "a::a<char const (&) [4], int>(char const (&) [4], int&&)",
        ),
        (
            "_Z1fIJPFvvEA2_iRcEEvDpOT_",
            "void f<void (*)(), int [2], char&>(void (*&&)(), int (&&) [2], char&)",
            "void f<void (*)(), int [2], char&>(void (*&&)(), int (&&) [2], char&)",
        ),
        (
            "_ZN4llvm3MD55finalERNS0_9MD5ResultE",
            "llvm::MD5::final(llvm::MD5::MD5Result&)",
            "llvm::MD5::final(llvm::MD5::MD5Result&)",
        ),
        (
            "_ZN2v84base15RegionAllocator5SplitEPNS1_6RegionEm",
            "v8::base::RegionAllocator::Split(v8::base::RegionAllocator::Region*, unsigned long)",
            "v8::base::RegionAllocator::Split(v8::base::RegionAllocator::Region*, unsigned long)",
        ),
        (
            "_ZN4node5http211Http2Stream7DestroyEv.part.0.cold",
            "node::http2::Http2Stream::Destroy() [clone .part.0] [clone .cold]",
            "node::http2::Http2Stream::Destroy() (.part.0.cold)",
        ),
        (
            "_ZNSt17_Function_handlerIFbPKcEPS2_E9_M_invokeERKSt9_Any_dataOS1_",
            "std::_Function_handler<bool (char const*), bool (*)(char const*)>::_M_invoke(std::_Any_data const&, char const*&&)",
            "std::_Function_handler<bool (char const*), bool (*)(char const*)>::_M_invoke(std::_Any_data const&, char const*&&)",
        ),
        (
            "_ZZZN4node9AsyncWrap11EmitDestroyEPNS_11EnvironmentEdENKUlS2_E_clES2_ENUlPvE_4_FUNES4_",
            "node::AsyncWrap::EmitDestroy(node::Environment*, double)::{lambda(node::Environment*)#1}::operator()(node::Environment*) const::{lambda(void*)#1}::_FUN(void*)",
            "node::AsyncWrap::EmitDestroy(node::Environment*, double)::'lambda'(node::Environment*)::operator()(node::Environment*) const::'lambda'(void*)::_FUN(void*)",
        ),
        (
            "_ZN3c10lsIlEERSoS1_NS_8ArrayRefIT_EE",
            "std::ostream& c10::operator<< <long>(std::ostream&, c10::ArrayRef<long>)",
            "std::ostream& c10::operator<<<long>(std::ostream&, c10::ArrayRef<long>)",
        ),
        (
            "_ZN2v88internal16CallOptimizationC1INS0_7IsolateEEEPT_NS0_6HandleINS0_6ObjectEEE",
            "v8::internal::CallOptimization::CallOptimization<v8::internal::Isolate>(v8::internal::Isolate*, v8::internal::Handle<v8::internal::Object>)",
            "v8::internal::CallOptimization::CallOptimization<v8::internal::Isolate>(v8::internal::Isolate*, v8::internal::Handle<v8::internal::Object>)",
        ),
        (
            "_ZZN4node11SPrintFImplIhJEEENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEPKcOT_DpOT0_E20error_and_abort_args",
            "node::SPrintFImpl<unsigned char>(char const*, unsigned char&&)::error_and_abort_args",
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>> node::SPrintFImpl<unsigned char>(char const*, unsigned char&&)::error_and_abort_args",
        ),
        ("_ZN1aIXadL_ZN1b1cEiEEE1dEv", "a<&b::c>::d()", "a<&b::c(int)>::d()"),
        ("_ZGTtnam", "transaction clone for operator new[](unsigned long)", "_ZGTtnam"),
    ] {
        assert_eq!(String::from_utf8_lossy(gnu.full(name.as_bytes())), as_gnu);
        assert_eq!(String::from_utf8_lossy(llvm.full(name.as_bytes())), as_llvm);
    }
}

fn marked(name: &str) -> Option<String> {
    packs::mark(name.as_bytes()).map(|marked| String::from_utf8_lossy(&marked).into_owned())
}

#[test]
fn references_are_marked_and_identifiers_are_not() {
    for (name, expected) in [
        ("_Z1fv", None),
        ("_Z1fRi", None),
        ("_ZN5RNRNRE", None),
        ("_ZTVN1aE", None),
        ("_ZNK1a1bEv", None),
        ("_ZoRiRN1aE", Some("_ZoRiU3.r.N1aE")),
        ("_Z1fRKN1aE", Some("_Z1fU3.r.U3.k.N1aE")),
        ("_Z1fILi3EEvPN1aE", Some("_Z1fILi3EEvU3.p.N1aE")),
        ("_Z1fIL4PNPN3EEvOT_", Some("_Z1fIL4PNPN3EEvU3.o.T_")),
        ("_Z1fILN1a1bE3EEvOT_", Some("_Z1fILN1a1bE3EEvU3.o.T_")),
        ("_Z1fIFRN1aEvEEvv", None),
    ] {
        assert_eq!(marked(name).as_deref(), expected, "{name}");
    }
}

#[test]
fn templates_of_constructors_get_a_return_type() {
    let constructor = |name: &str| {
        packs::constructor(name.as_bytes()).map(|name| String::from_utf8_lossy(&name).into_owned())
    };
    assert_eq!(constructor("_ZN1aC1IiEET_").as_deref(), Some("_ZN1aC1IiEEvT_"));
    assert_eq!(
        constructor("_ZN1aIN1bEEC2IJS0_EEEDpT_").as_deref(),
        Some("_ZN1aIN1bEEC2IJS0_EEEvDpT_")
    );
    for name in
        ["_ZN1aC1Ei", "_ZN1a1bIiEEvT_", "_Z1fIiEvT_", "_ZN1aC1IiE1bEv", "_ZN1aC1Ii", "_Z", ""]
    {
        assert_eq!(constructor(name), None, "{name}");
    }
}

/// What cannot be read is left as it is, whatever stands in it.
#[test]
fn every_cut_of_a_name_is_harmless() {
    let name = "_ZNKR1aIXadL_ZN1b1cEiEELm3EE1dIJRA4_KcPFvvEZ1fvEUlRT_OS3_E0_EEEvDpOT_.part.0.cold";
    let mut gnu = Demangler::new(true);
    let mut llvm = Demangler::spelling(true, Spelling::Llvm);
    for end in 0..=name.len() {
        for start in 0..end {
            let cut = [b"_Z", name.get(start..end).unwrap_or_default().as_bytes()].concat();
            assert!(!gnu.full(&cut).is_empty());
            assert!(!llvm.full(&cut).is_empty());
        }
    }
}

/// Identifiers may hold what the spellings look for.
#[test]
fn brackets_in_identifiers_end_somewhere() {
    for part in [
        "{lambda(",
        "{lambda(a(b)#1}::f",
        "<a(",
        "(long)1",
        "&::(",
        ", >",
        " [clone ",
        "{unnamed type#",
        ")#2}",
        "operator<",
    ] {
        let identifier = part.repeat(4000 / part.len());
        let name = format!("_Z1fI{}{identifier}S_S_S_Evv", identifier.len());
        for spelling in [Spelling::Gnu, Spelling::Llvm] {
            let start = std::time::Instant::now();
            assert!(!Demangler::spelling(true, spelling).full(name.as_bytes()).is_empty());
            assert!(start.elapsed() < std::time::Duration::from_secs(1), "{part}");
        }
    }
}
