# The core and the extras: each an object library, then static and shared.
set(FAR_SOURCES
    src/base/clock.c src/base/context.c src/base/crew.c src/base/fail_at.c src/base/isa.c src/base/ledger.c src/base/mat.c src/base/memory.c src/base/random.c src/base/nearest.c src/base/numbers.c src/base/show.c src/base/round.c src/base/status.c src/base/student.c
    src/base/text.c
    src/arch/arch_error.c src/arch/arch_grammar.c src/arch/arch_layers.c src/arch/arch_parse.c
    src/arch/arch_print.c
    src/data/array.c src/data/csv.c src/data/csv_scan.c src/data/date.c
    src/data/expr_eval.c src/data/expr_parse.c src/data/expr_token.c
    src/data/frame.c src/data/frame_hash.c
    src/data/frame_levels.c src/data/frame_list.c src/data/frame_read.c src/data/frame_words.c
    src/data/input.c src/data/notes.c src/data/npy.c src/data/npz.c src/data/number.c src/data/output.c
    src/data/json_read.c src/data/json_value.c src/data/json_write.c src/data/notation.c src/data/safetensors.c src/data/safetensors_write.c src/data/seal.c src/data/sha256.c src/data/write.c
    src/columns/columns.c src/columns/columns_choose.c src/columns/columns_encode.c src/columns/columns_features.c
    src/columns/columns_json.c src/columns/columns_learn.c src/columns/columns_targets.c src/columns/examples.c
    src/kernel/activation.c src/kernel/big.c src/kernel/diagonal.c src/kernel/hermite.c src/kernel/input_row.c
    src/kernel/kernel.c src/kernel/plan.c src/kernel/point_run.c src/kernel/points.c src/kernel/power_table.c src/kernel/supremum.c
    src/kernel/tail.c src/kernel/tile.c
    src/net/activation.c src/net/augment.c src/net/engine.c src/net/engine_plan.c src/net/eval.c src/net/init.c src/net/limit.c src/net/lora.c src/net/net.c src/net/net_file.c src/net/net_modules.c src/net/net_residual.c src/net/net_save.c
    src/net/parts.c src/net/program.c src/net/program_shapes.c
    src/net/checkpoint.c src/net/loss.c src/net/optimizer.c src/net/team.c src/net/train.c
    src/net/train_data.c src/net/train_moment.c src/net/train_run.c src/net/train_step.c src/net/train_watch.c
    src/gram/fill.c src/gram/kernel_gradient.c src/gram/kernel_gram.c src/gram/kernel_product.c src/gram/net_factors.c
    src/gram/net_gram.c
    src/gram/net_operator.c
    src/solve/blas.c src/solve/blocks.c src/solve/cg.c src/solve/cholesky.c src/solve/core.c src/solve/doubled.c src/solve/eigen.c
    src/solve/estimate.c src/solve/lanczos.c src/solve/lower.c
    src/solve/multiply.c src/solve/nystrom.c src/solve/refine.c src/solve/residual.c src/solve/system.c
    src/solve/triangular.c
    src/score/calibrate.c src/score/score.c
    src/measure/align.c src/measure/cka.c src/measure/grid.c src/measure/jets.c
    src/measure/odd_part.c
    src/measure/local.c src/measure/local_reach.c src/measure/measures_kernel.c src/measure/measures_local.c
    src/measure/measures_target.c src/measure/power_fit.c
    src/measure/power_theory.c src/measure/rank.c src/measure/registry.c
    src/measure/registry_table.c src/measure/spectral.c src/measure/spectrum.c
    src/measure/track.c src/measure/track_file.c src/measure/view.c src/measure/weyl.c
    src/regress/baseline.c src/regress/linear.c src/regress/xgboost.c
    src/regress/duplicate.c src/regress/filter.c src/regress/fit.c src/regress/fit_iterative.c src/regress/left_out.c
    src/regress/model.c src/regress/model_score.c src/regress/points.c src/regress/predict.c src/regress/select.c src/regress/select_edge.c
    src/regress/select_committee.c src/regress/select_validate.c src/regress/select_fold.c src/regress/select_metric.c src/regress/select_plain.c
    src/regress/select_score.c
    src/regress/spread.c
    src/regress/manifest.c src/regress/manifest_read.c src/regress/metric.c src/regress/metric_tune.c
    src/regress/model_file.c
    src/regress/model_metric.c
    src/regress/net_predict.c
    src/nonlinear/circle.c src/nonlinear/curvature.c src/nonlinear/jet.c src/nonlinear/labelled.c
    src/nonlinear/ln_directions.c src/nonlinear/ln_hessian.c src/nonlinear/ln_layer.c
    src/nonlinear/ln_line.c src/nonlinear/ln_plane.c src/nonlinear/ln_sample.c
    src/nonlinear/net_hessian.c src/nonlinear/net_start.c src/nonlinear/ssr.c
    src/nonlinear/whiten.c
    src/laplace/laplace.c src/laplace/laplace_blocks.c src/laplace/laplace_choose.c src/laplace/laplace_classes.c
    src/laplace/laplace_ella.c src/laplace/laplace_estimate.c
    src/laplace/laplace_evidence.c src/laplace/laplace_exact.c src/laplace/laplace_features.c
    src/laplace/laplace_landmarks.c src/laplace/laplace_last.c src/laplace/laplace_matrix.c src/laplace/laplace_posterior.c
    src/laplace/laplace_predict.c src/laplace/laplace_project.c src/laplace/laplace_root.c
    src/laplace/laplace_scores.c src/laplace/laplace_tangent.c
    src/lnnet/build.c src/lnnet/check.c
    src/lnnet/network.c src/lnnet/plan.c src/lnnet/points.c src/lnnet/polish.c
    src/lnnet/precision_double.c src/lnnet/precision_quad.c src/lnnet/search_gather.c src/lnnet/search_merge.c
    src/lnnet/search_runs.c src/lnnet/search_score.c src/lnnet/shatter.c src/lnnet/trace.c
    src/lnnet/verify.c
    src/predictor/explain.c src/predictor/committee_fit.c src/predictor/kind_committee.c src/predictor/kind_finite.c src/predictor/kind_infinite.c
    src/predictor/kind_linear.c src/predictor/kind_trees.c src/predictor/predictor.c
    src/predictor/predictor_check.c src/predictor/predictor_file.c
    src/predictor/predictor_rows.c
    src/compare/compare.c src/compare/compare_fit.c src/compare/compare_models.c
    src/compare/compare_score.c src/compare/compare_split.c
    src/certify/bounds.c src/certify/branch.c src/certify/cell.c src/certify/certificate.c src/certify/certify_check.c
    src/certify/proof.c src/certify/proof_json.c
    src/certify/certify.c src/certify/evidence.c src/certify/quadratic.c src/certify/reason.c src/certify/search.c src/certify/sphere.c
    src/certify/witness.c
    src/certify/net_active.c src/certify/net_ball.c src/certify/net_branch.c src/certify/net_cell.c
    src/certify/net_cell_back.c src/certify/net_cell_norm.c src/certify/shape_back.c src/certify/shape_certify.c src/certify/shape_walk.c src/certify/net_certify.c
    src/certify/net_climb.c src/certify/net_form.c src/certify/net_found.c
    src/certify/net_interval.c src/certify/net_check.c src/certify/net_library.c
    src/certify/net_plan.c src/certify/net_point.c src/certify/net_reason.c src/certify/net_relax.c
    src/certify/net_spectral.c src/certify/net_strip.c src/certify/net_witness.c)

# Networks that are built: any precision, or the message that there is none above quad.
if(MPFR_FOUND)
  set(FAR_MPFR PkgConfig::MPFR)
  set(FAR_PC_MPFR mpfr)
  set(FAR_CONFIG_MPFR MPFR=mpfr)
  list(APPEND FAR_SOURCES src/lnnet/precision_mpfr.c)
else()
  list(APPEND FAR_SOURCES src/lnnet/precision_none.c)
endif()

# What is built on the core: figures, pages, statistics; pictures; data sets by name.
set(FAR_EXTRA_SOURCES
    src/fetch/fetch.c src/fetch/fetch_cache.c src/fetch/fetch_part.c src/fetch/fetch_read.c
    src/fetch/fetch_verify.c src/fetch/idx.c src/fetch/registry.c src/fetch/tar.c
    src/image/image.c src/image/pgm.c src/image/picture.c src/image/pictures.c
    src/report/axis.c src/report/draw.c src/report/figure.c src/report/figure_csv.c
    src/report/figure_grid.c src/report/figure_write.c src/report/geometry.c src/report/heat.c
    src/report/key.c src/report/layers.c src/report/layout.c src/report/lettering.c
    src/report/limits.c src/report/lowess.c src/report/mark_boxes.c src/report/mark_notes.c
    src/report/marks.c src/report/motion.c src/report/palette.c src/report/panel.c src/report/paths.c
    src/report/picture.c src/report/render.c src/report/statistics.c
    src/report/svg.c src/report/ticks.c
    src/report/page.c src/report/page_script.c src/report/page_style.c src/report/page_table.c
    src/report/page_text.c
    src/report/result.c src/report/result_csv.c src/report/result_json.c src/report/result_page.c
    src/report/result_text.c)

# Downloads, or the message that there are none.
if(FAR_DOWNLOADS AND CURL_FOUND)
  set(FAR_CURL PkgConfig::CURL)
  set(FAR_PC_CURL libcurl)
  set(FAR_CONFIG_CURL CURL=libcurl)
  list(APPEND FAR_EXTRA_SOURCES src/fetch/fetch_curl.c)
else()
  list(APPEND FAR_EXTRA_SOURCES src/fetch/fetch_none.c)
endif()

# Pictures: PNG, or the message that only PGM is read.
if(PNG_FOUND)
  set(FAR_PNG PkgConfig::PNG)
  set(FAR_PC_PNG libpng)
  set(FAR_CONFIG_PNG PNG=libpng)
  list(APPEND FAR_EXTRA_SOURCES src/image/png.c)
else()
  list(APPEND FAR_EXTRA_SOURCES src/image/png_none.c)
endif()

# The same for JPEG.
if(TURBOJPEG_FOUND)
  set(FAR_JPEG PkgConfig::TURBOJPEG)
  set(FAR_PC_JPEG libturbojpeg)
  set(FAR_CONFIG_JPEG TURBOJPEG=libturbojpeg)
  list(APPEND FAR_EXTRA_SOURCES src/image/jpeg.c)
else()
  list(APPEND FAR_EXTRA_SOURCES src/image/jpeg_none.c)
endif()

# The inner loops once per instruction set; the best one is chosen at run time. Vector code needs
# selects instead of branches, which the flags allow; nothing here allows reassociation.
set(FAR_TILE_FLAGS -fno-math-errno -fno-trapping-math -fno-signed-zeros -ffinite-math-only)
set(FAR_ISA_FLAGS_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
set(FAR_ISA_FLAGS_avx2 -march=x86-64-v3)
set(FAR_ISA_FLAGS_baseline -march=x86-64)
foreach(isa avx512 avx2 baseline)
  add_library(far_tile_${isa} OBJECT src/kernel/tile_isa.c)
  target_include_directories(far_tile_${isa} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_compile_definitions(far_tile_${isa} PRIVATE FAR_ISA=${isa})
  target_compile_options(far_tile_${isa} PRIVATE ${FAR_TILE_FLAGS} ${FAR_ISA_FLAGS_${isa}})
  far_inner_flags(far_tile_${isa} ${isa})
  list(APPEND FAR_TILE_OBJECTS $<TARGET_OBJECTS:far_tile_${isa}>)
endforeach()

# Residuals in doubled precision look for what rounding drops: nothing may be fused.
set(FAR_EXACT_FLAGS -ffp-contract=off)
set_source_files_properties(src/solve/doubled.c PROPERTIES COMPILE_OPTIONS ${FAR_EXACT_FLAGS})
# A chain must meet the same numbers whenever it is folded again.
set_source_files_properties(src/lnnet/precision_double.c PROPERTIES COMPILE_OPTIONS
                                                                    ${FAR_EXACT_FLAGS})
foreach(isa avx512 avx2 baseline)
  add_library(far_doubled_${isa} OBJECT src/solve/doubled_isa.c)
  target_compile_definitions(far_doubled_${isa} PRIVATE FAR_ISA=${isa})
  target_compile_options(far_doubled_${isa} PRIVATE ${FAR_EXACT_FLAGS} ${FAR_ISA_FLAGS_${isa}})
  far_inner_flags(far_doubled_${isa} ${isa})
  list(APPEND FAR_TILE_OBJECTS $<TARGET_OBJECTS:far_doubled_${isa}>)
endforeach()

# Networks: without -ffinite-math-only, since a NAN must come through; and no loop may treat numbers
# by their address, since a row must give the same bits wherever it lies.
set(FAR_ENGINE_FLAGS -fno-math-errno -fno-trapping-math -fno-signed-zeros
                     --param=vect-max-peeling-for-alignment=0)
foreach(isa avx512 avx2 baseline)
  add_library(far_engine_${isa} OBJECT src/net/engine_isa.c)
  target_include_directories(far_engine_${isa} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_compile_definitions(far_engine_${isa} PRIVATE FAR_ISA=${isa})
  target_compile_options(far_engine_${isa} PRIVATE ${FAR_ENGINE_FLAGS} ${FAR_ISA_FLAGS_${isa}})
  far_inner_flags(far_engine_${isa} ${isa})
  list(APPEND FAR_TILE_OBJECTS $<TARGET_OBJECTS:far_engine_${isa}>)
endforeach()
# The optimiser cuts parameters by thread: whether a number is the last of a loop must not matter.
foreach(isa avx512 avx2 baseline)
  add_library(far_optimizer_${isa} OBJECT src/net/optimizer_isa.c)
  target_include_directories(far_optimizer_${isa} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_compile_definitions(far_optimizer_${isa} PRIVATE FAR_ISA=${isa})
  target_compile_options(far_optimizer_${isa} PRIVATE ${FAR_EXACT_FLAGS} ${FAR_ISA_FLAGS_${isa}})
  far_inner_flags(far_optimizer_${isa} ${isa})
  list(APPEND FAR_TILE_OBJECTS $<TARGET_OBJECTS:far_optimizer_${isa}>)
endforeach()

add_library(far_objects OBJECT ${FAR_SOURCES})
target_include_directories(far_objects PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
target_compile_definitions(far_objects PRIVATE FAR_VERSION="${PROJECT_VERSION}")
target_link_libraries(far_objects PRIVATE far_flags OpenMP::OpenMP_C ZLIB::ZLIB PkgConfig::ZIP
                                          PkgConfig::JANSSON PkgConfig::NLOPT ${FAR_MPFR})

set(FAR_LIBRARIES $<BUILD_INTERFACE:far_flags> OpenMP::OpenMP_C ZLIB::ZLIB PkgConfig::ZIP
                  PkgConfig::JANSSON PkgConfig::NLOPT PkgConfig::ARPACK PkgConfig::OPENBLAS
                  ${FAR_MPFR} ${CMAKE_DL_LIBS} mvec m quadmath)

add_library(farfield_static STATIC $<TARGET_OBJECTS:far_objects> ${FAR_TILE_OBJECTS})
add_library(farfield_shared SHARED $<TARGET_OBJECTS:far_objects> ${FAR_TILE_OBJECTS})
foreach(library farfield_static farfield_shared)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME farfield LINKER_LANGUAGE C)
  target_link_libraries(${library} PRIVATE ${FAR_LIBRARIES})
  target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                                                  $<INSTALL_INTERFACE:include>)
endforeach()

# The second library, on top of the first. The Python package has its figures alone.
set(FAR_REPORT_SOURCES ${FAR_EXTRA_SOURCES})
list(FILTER FAR_REPORT_SOURCES INCLUDE REGEX "^src/report/")
set(FAR_OTHER_SOURCES ${FAR_EXTRA_SOURCES})
list(FILTER FAR_OTHER_SOURCES EXCLUDE REGEX "^src/report/")
add_library(far_report_objects OBJECT ${FAR_REPORT_SOURCES})
add_library(far_extra_objects OBJECT ${FAR_OTHER_SOURCES})
foreach(objects far_report_objects far_extra_objects)
  target_compile_definitions(${objects} PRIVATE FAR_VERSION="${PROJECT_VERSION}")
  target_include_directories(${objects} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${objects} PRIVATE far_flags OpenMP::OpenMP_C ZLIB::ZLIB PkgConfig::ZIP
                                           PkgConfig::JANSSON ${FAR_CURL} ${FAR_PNG} ${FAR_JPEG})
endforeach()
foreach(kind static shared)
  string(TOUPPER ${kind} type)
  add_library(farfield_extras_${kind} ${type} $<TARGET_OBJECTS:far_report_objects>
                                              $<TARGET_OBJECTS:far_extra_objects>)
  set_target_properties(farfield_extras_${kind} PROPERTIES OUTPUT_NAME farfield-extras)
  target_link_libraries(farfield_extras_${kind} PUBLIC farfield_${kind}
                        PRIVATE $<BUILD_INTERFACE:far_flags> ZLIB::ZLIB ${FAR_CURL} ${FAR_PNG} ${FAR_JPEG}
                                ${CMAKE_DL_LIBS} m)
endforeach()

set_target_properties(farfield_shared farfield_extras_shared PROPERTIES VERSION ${PROJECT_VERSION}
                                                                        SOVERSION 0)
set_target_properties(farfield_shared PROPERTIES EXPORT_NAME farfield)
set_target_properties(farfield_static PROPERTIES EXPORT_NAME static)
set_target_properties(farfield_extras_shared PROPERTIES EXPORT_NAME extras)
set_target_properties(farfield_extras_static PROPERTIES EXPORT_NAME extras_static)
add_library(farfield::farfield ALIAS farfield_shared)
add_library(farfield::static ALIAS farfield_static)
add_library(farfield::extras ALIAS farfield_extras_shared)
add_library(farfield::extras_static ALIAS farfield_extras_static)

set_property(GLOBAL PROPERTY TARGET_MESSAGES OFF) # "Built target ..." for what is there already
