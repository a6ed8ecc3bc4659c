#include <metal_stdlib>
#include <metal_math>
#include <metal_texture>
using namespace metal;
#include <metal_simdgroup_matrix>
array<bool, int(1)> _S1()
{
    array<bool, int(1)> _S2 = { false };
    return _S2;
}

array<bool, int(1)> _S3()
{
    array<bool, int(1)> _S4 = { false };
    return _S4;
}

struct s_bwdCallableCtx_results_net_l1_w_times_0
{
    array<float, int(16)> _S5;
};

struct EntryPointParams_0
{
    uint count_0;
    uint parts_0;
};

struct KernelContext_0
{
    float device* results_net_l1_w_0;
    EntryPointParams_0 constant* entryPointParams_0;
    float device* entryPointParams_x_0;
    float device* entryPointParams_x_grad_0;
    float device* entryPointParams_result_cotangent_0;
    float device* entryPointParams_partials_0;
    array<bool, int(1)> is_there_0;
    array<simdgroup_float8x8, int(1)> sums_0;
    array<bool, int(1)> is_there_1;
    array<simdgroup_float8x8, int(1)> sums_1;
    uint lane_0;
    array<float4, int(4)> results_net_l1_w_sums_0;
    array<float4, int(1)> results_net_l1_b_sums_0;
    bool others_read_0;
    uint written_0;
    array<float4, int(1600)> threadgroup* stage_0;
};

struct DiffPair_arrayx3Cfloatx2C16x3E_0
{
    array<float, int(16)> primal_0;
    array<float, int(16)> differential_0;
};

struct sa_OwnTiles_0
{
    int first_0;
    uint part_0;
    uint parts_1;
};

sa_OwnTiles_0 sa_OwnTiles_x24init_0(int first_1, uint part_1, uint parts_2)
{
    thread sa_OwnTiles_0 _S6;
    (&_S6)->first_0 = first_1;
    (&_S6)->part_0 = part_1;
    (&_S6)->parts_1 = parts_2;
    return _S6;
}

void sa_add_outer_and_rows_0(int first_2, int bias_first_0, const array<float, int(16)> thread* columns_0, const array<float, int(16)> thread* rows_0, KernelContext_0 thread* kernelContext_0)
{
    int _S7 = first_2 / int(4);
    for(;;)
    {
        uint _S8 = min(22U, 32U);
        int wave_0 = int(kernelContext_0->lane_0 / 32U);
        sa_OwnTiles_0 _S9 = sa_OwnTiles_x24init_0(wave_0 % int(4), uint(wave_0 / int(4)), 2U);
        simdgroup_float8x8 _S10 = (make_filled_simdgroup_matrix<float, 8, 8>((1.0)));
        thread simdgroup_float8x8 ones_0 = _S10;
        if(!kernelContext_0->is_there_1[_S7])
        {
            simdgroup_float8x8 _S11 = (make_filled_simdgroup_matrix<float, 8, 8>((0.0)));
            kernelContext_0->sums_1[_S7] = _S11;
        }
        kernelContext_0->is_there_1[_S7] = true;
        if(!kernelContext_0->is_there_0[bias_first_0])
        {
            simdgroup_float8x8 _S12 = (make_filled_simdgroup_matrix<float, 8, 8>((0.0)));
            kernelContext_0->sums_0[bias_first_0] = _S12;
        }
        kernelContext_0->is_there_0[bias_first_0] = true;
        uint start_0 = 0U;
        for(;;)
        {
            if(start_0 < 32U)
            {
            }
            else
            {
                break;
            }
            uint _S13 = min(_S8, 32U - start_0);
            kernelContext_0->others_read_0 = true;
            kernelContext_0->written_0 = 2U;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            bool _S14;
            if((kernelContext_0->lane_0 / 8U) >= start_0)
            {
                _S14 = (kernelContext_0->lane_0 / 8U) < (start_0 + _S13);
            }
            else
            {
                _S14 = false;
            }
            if(_S14)
            {
                uint _S15 = (kernelContext_0->lane_0 - 8U * start_0) * 9U;
                float4 _S16 = float4(int4(int(0)) );
                thread float4 block_0 = _S16;
                block_0.x = (*columns_0)[int(0)];
                block_0.y = (*columns_0)[int(1)];
                block_0.z = (*columns_0)[int(2)];
                block_0.w = (*columns_0)[int(3)];
                (*kernelContext_0->stage_0)[_S15] = block_0;
                thread float4 block_1 = _S16;
                block_1.x = (*columns_0)[int(4)];
                block_1.y = (*columns_0)[int(5)];
                block_1.z = (*columns_0)[int(6)];
                block_1.w = (*columns_0)[int(7)];
                (*kernelContext_0->stage_0)[_S15 + 1U] = block_1;
                thread float4 block_2 = _S16;
                block_2.x = (*columns_0)[int(8)];
                block_2.y = (*columns_0)[int(9)];
                block_2.z = (*columns_0)[int(10)];
                block_2.w = (*columns_0)[int(11)];
                (*kernelContext_0->stage_0)[_S15 + 2U] = block_2;
                thread float4 block_3 = _S16;
                block_3.x = (*columns_0)[int(12)];
                block_3.y = (*columns_0)[int(13)];
                block_3.z = (*columns_0)[int(14)];
                block_3.w = (*columns_0)[int(15)];
                (*kernelContext_0->stage_0)[_S15 + 3U] = block_3;
                thread float4 block_4 = _S16;
                block_4.x = (*rows_0)[int(0)];
                block_4.y = (*rows_0)[int(1)];
                block_4.z = (*rows_0)[int(2)];
                block_4.w = (*rows_0)[int(3)];
                (*kernelContext_0->stage_0)[_S15 + 4U] = block_4;
                thread float4 block_5 = _S16;
                block_5.x = (*rows_0)[int(4)];
                block_5.y = (*rows_0)[int(5)];
                block_5.z = (*rows_0)[int(6)];
                block_5.w = (*rows_0)[int(7)];
                (*kernelContext_0->stage_0)[_S15 + 5U] = block_5;
                thread float4 block_6 = _S16;
                block_6.x = (*rows_0)[int(8)];
                block_6.y = (*rows_0)[int(9)];
                block_6.z = (*rows_0)[int(10)];
                block_6.w = (*rows_0)[int(11)];
                (*kernelContext_0->stage_0)[_S15 + 6U] = block_6;
                thread float4 block_7 = _S16;
                block_7.x = (*rows_0)[int(12)];
                block_7.y = (*rows_0)[int(13)];
                block_7.z = (*rows_0)[int(14)];
                block_7.w = (*rows_0)[int(15)];
                (*kernelContext_0->stage_0)[_S15 + 7U] = block_7;
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            for(;;)
            {
                for(;;)
                {
                    for(;;)
                    {
                        bool _S17;
                        if((_S9.first_0) >= int(4))
                        {
                            _S17 = true;
                        }
                        else
                        {
                            _S17 = (_S9.part_0) >= (_S9.parts_1);
                        }
                        if(_S17)
                        {
                            break;
                        }
                        uint _S18 = uint(_S9.first_0);
                        uint _S19 = _S18 / 2U;
                        uint _S20 = _S18 % 2U;
                        thread simdgroup_float8x8 sum_0 = kernelContext_0->sums_1[_S7];
                        uint unit_0 = _S9.part_0;
                        for(;;)
                        {
                            if(unit_0 < _S13)
                            {
                            }
                            else
                            {
                                break;
                            }
                            uint _S21 = 8U * unit_0 * 9U;
                            thread simdgroup_float8x8 left_0;
                            simdgroup_load(*(&left_0), (threadgroup float*)((&(*kernelContext_0->stage_0)[_S21 + 4U + 2U * _S19])), ulong((36U)), ulong2(0), (true));
                            thread simdgroup_float8x8 right_0;
                            simdgroup_load(*(&right_0), (threadgroup float*)((&(*kernelContext_0->stage_0)[_S21 + 2U * _S20])), ulong((36U)), ulong2(0), (false));
                            simdgroup_multiply_accumulate(*(&sum_0), *(&left_0), *(&right_0), *(&sum_0));
                            if(_S20 == 0U)
                            {
                                simdgroup_multiply_accumulate(*(&kernelContext_0->sums_0[bias_first_0]), *(&left_0), *(&ones_0), *(&kernelContext_0->sums_0[bias_first_0]));
                            }
                            unit_0 = unit_0 + _S9.parts_1;
                        }
                        kernelContext_0->sums_1[_S7] = sum_0;
                        break;
                    }
                    break;
                }
                break;
            }
            start_0 = start_0 + _S8;
        }
        break;
    }
    return;
}

void sa_load_four_0(array<simdgroup_float8x8, int(4)> thread* tiles_0, uint at_0, KernelContext_0 thread* kernelContext_1)
{
    simdgroup_load(*(&(*tiles_0)[0U]), (threadgroup float*)((&(*kernelContext_1->stage_0)[at_0])), ulong((8U)), ulong2(0), (false));
    simdgroup_load(*(&(*tiles_0)[1U]), (threadgroup float*)((&(*kernelContext_1->stage_0)[at_0 + 16U])), ulong((8U)), ulong2(0), (false));
    simdgroup_load(*(&(*tiles_0)[2U]), (threadgroup float*)((&(*kernelContext_1->stage_0)[at_0 + 32U])), ulong((8U)), ulong2(0), (false));
    simdgroup_load(*(&(*tiles_0)[3U]), (threadgroup float*)((&(*kernelContext_1->stage_0)[at_0 + 48U])), ulong((8U)), ulong2(0), (false));
    return;
}

void sa_add_products_0(array<simdgroup_float8x8, int(4)> thread* sums_2, array<simdgroup_float8x8, int(4)> thread* left_1, uint at_1, uint stride_0, bool by_columns_0, KernelContext_0 thread* kernelContext_2)
{
    thread simdgroup_float8x8 right_1;
    simdgroup_load(*(&right_1), (threadgroup float*)((&(*kernelContext_2->stage_0)[at_1])), ulong((stride_0)), ulong2(0), (by_columns_0));
    simdgroup_multiply_accumulate(*(&(*sums_2)[int(0)]), *(&(*left_1)[int(0)]), *(&right_1), *(&(*sums_2)[int(0)]));
    simdgroup_multiply_accumulate(*(&(*sums_2)[int(1)]), *(&(*left_1)[int(1)]), *(&right_1), *(&(*sums_2)[int(1)]));
    simdgroup_multiply_accumulate(*(&(*sums_2)[int(2)]), *(&(*left_1)[int(2)]), *(&right_1), *(&(*sums_2)[int(2)]));
    simdgroup_multiply_accumulate(*(&(*sums_2)[int(3)]), *(&(*left_1)[int(3)]), *(&right_1), *(&(*sums_2)[int(3)]));
    return;
}

void sa_store_four_0(const array<simdgroup_float8x8, int(4)> thread* tiles_1, uint at_2, KernelContext_0 thread* kernelContext_3)
{
    simdgroup_store(((*tiles_1)[0U]), (threadgroup float*)((&(*kernelContext_3->stage_0)[at_2])), ulong((8U)));
    simdgroup_store(((*tiles_1)[1U]), (threadgroup float*)((&(*kernelContext_3->stage_0)[at_2 + 16U])), ulong((8U)));
    simdgroup_store(((*tiles_1)[2U]), (threadgroup float*)((&(*kernelContext_3->stage_0)[at_2 + 32U])), ulong((8U)));
    simdgroup_store(((*tiles_1)[3U]), (threadgroup float*)((&(*kernelContext_3->stage_0)[at_2 + 48U])), ulong((8U)));
    return;
}

array<float, int(16)> sa_times_transposed_0(float device* matrix_0, uint at_3, const array<float, int(16)> thread* vector_0, KernelContext_0 thread* kernelContext_4)
{
    array<float, int(16)> _S22;
    for(;;)
    {
        thread array<float, int(16)> product_0;
        product_0[int(0)] = 0.0;
        product_0[int(1)] = 0.0;
        product_0[int(2)] = 0.0;
        product_0[int(3)] = 0.0;
        product_0[int(4)] = 0.0;
        product_0[int(5)] = 0.0;
        product_0[int(6)] = 0.0;
        product_0[int(7)] = 0.0;
        product_0[int(8)] = 0.0;
        product_0[int(9)] = 0.0;
        product_0[int(10)] = 0.0;
        product_0[int(11)] = 0.0;
        product_0[int(12)] = 0.0;
        product_0[int(13)] = 0.0;
        product_0[int(14)] = 0.0;
        product_0[int(15)] = 0.0;
        uint start_1 = 80U + kernelContext_4->lane_0 / 32U * 64U;
        uint _S23 = start_1 + kernelContext_4->lane_0 % 32U * 2U;
        kernelContext_4->others_read_0 = true;
        kernelContext_4->written_0 = 2U;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for(;;)
        {
            int n_0 = int(kernelContext_4->lane_0);
            for(;;)
            {
                if(n_0 < int(64))
                {
                }
                else
                {
                    break;
                }
                int i_0 = n_0 / int(4);
                int k_0 = n_0 % int(4) * int(4);
                uint _S24 = at_3 + uint(i_0 * int(16) + k_0);
                int _S25;
                if(i_0 < int(16))
                {
                    _S25 = int(16) - k_0;
                }
                else
                {
                    _S25 = int(0);
                }
                thread float4 block_8 = float4(int4(int(0)) );
                if(int(0) < _S25)
                {
                    block_8.x = matrix_0[_S24];
                }
                if(int(1) < _S25)
                {
                    block_8.y = matrix_0[_S24 + 1U];
                }
                if(int(2) < _S25)
                {
                    block_8.z = matrix_0[_S24 + 2U];
                }
                if(int(3) < _S25)
                {
                    block_8.w = matrix_0[_S24 + 3U];
                }
                float4 _S26 = block_8;
                (*kernelContext_4->stage_0)[i_0 * int(5) + k_0 / int(4)] = _S26;
                n_0 = n_0 + int(256);
            }
            break;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        thread array<array<simdgroup_float8x8, int(4)>, int(2)> sums_3;
        simdgroup_float8x8 _S27 = (make_filled_simdgroup_matrix<float, 8, 8>((0.0)));
        sums_3[int(0)][int(0)] = _S27;
        simdgroup_float8x8 _S28 = (make_filled_simdgroup_matrix<float, 8, 8>((0.0)));
        sums_3[int(0)][int(1)] = _S28;
        simdgroup_float8x8 _S29 = (make_filled_simdgroup_matrix<float, 8, 8>((0.0)));
        sums_3[int(0)][int(2)] = _S29;
        simdgroup_float8x8 _S30 = (make_filled_simdgroup_matrix<float, 8, 8>((0.0)));
        sums_3[int(0)][int(3)] = _S30;
        simdgroup_float8x8 _S31 = (make_filled_simdgroup_matrix<float, 8, 8>((0.0)));
        sums_3[int(1)][int(0)] = _S31;
        simdgroup_float8x8 _S32 = (make_filled_simdgroup_matrix<float, 8, 8>((0.0)));
        sums_3[int(1)][int(1)] = _S32;
        simdgroup_float8x8 _S33 = (make_filled_simdgroup_matrix<float, 8, 8>((0.0)));
        sums_3[int(1)][int(2)] = _S33;
        simdgroup_float8x8 _S34 = (make_filled_simdgroup_matrix<float, 8, 8>((0.0)));
        sums_3[int(1)][int(3)] = _S34;
        float4 _S35 = float4(int4(int(0)) );
        thread float4 block_9 = _S35;
        block_9.x = (*vector_0)[int(0)];
        block_9.y = (*vector_0)[int(1)];
        block_9.z = (*vector_0)[int(2)];
        block_9.w = (*vector_0)[int(3)];
        (*kernelContext_4->stage_0)[_S23] = block_9;
        thread float4 block_10 = _S35;
        block_10.x = (*vector_0)[int(4)];
        block_10.y = (*vector_0)[int(5)];
        block_10.z = (*vector_0)[int(6)];
        block_10.w = (*vector_0)[int(7)];
        (*kernelContext_4->stage_0)[_S23 + 1U] = block_10;
        simdgroup_barrier(metal::mem_flags::mem_threadgroup);
        thread array<simdgroup_float8x8, int(4)> left_2;
        sa_load_four_0(&left_2, start_1, kernelContext_4);
        sa_add_products_0(&sums_3[int(0)], &left_2, 0U, 20U, false, kernelContext_4);
        sa_add_products_0(&sums_3[int(1)], &left_2, 2U, 20U, false, kernelContext_4);
        simdgroup_barrier(metal::mem_flags::mem_threadgroup);
        thread float4 block_11 = _S35;
        block_11.x = (*vector_0)[int(8)];
        block_11.y = (*vector_0)[int(9)];
        block_11.z = (*vector_0)[int(10)];
        block_11.w = (*vector_0)[int(11)];
        (*kernelContext_4->stage_0)[_S23] = block_11;
        thread float4 block_12 = _S35;
        block_12.x = (*vector_0)[int(12)];
        block_12.y = (*vector_0)[int(13)];
        block_12.z = (*vector_0)[int(14)];
        block_12.w = (*vector_0)[int(15)];
        (*kernelContext_4->stage_0)[_S23 + 1U] = block_12;
        simdgroup_barrier(metal::mem_flags::mem_threadgroup);
        thread array<simdgroup_float8x8, int(4)> left_3;
        sa_load_four_0(&left_3, start_1, kernelContext_4);
        sa_add_products_0(&sums_3[int(0)], &left_3, 40U, 20U, false, kernelContext_4);
        sa_add_products_0(&sums_3[int(1)], &left_3, 42U, 20U, false, kernelContext_4);
        simdgroup_barrier(metal::mem_flags::mem_threadgroup);
        sa_store_four_0(&sums_3[int(0)], start_1, kernelContext_4);
        simdgroup_barrier(metal::mem_flags::mem_threadgroup);
        float4 entries_0 = (*kernelContext_4->stage_0)[_S23];
        product_0[int(0)] = (*kernelContext_4->stage_0)[_S23].x;
        product_0[int(1)] = entries_0.y;
        product_0[int(2)] = entries_0.z;
        product_0[int(3)] = entries_0.w;
        float4 entries_1 = (*kernelContext_4->stage_0)[_S23 + 1U];
        product_0[int(4)] = (*kernelContext_4->stage_0)[_S23 + 1U].x;
        product_0[int(5)] = entries_1.y;
        product_0[int(6)] = entries_1.z;
        product_0[int(7)] = entries_1.w;
        simdgroup_barrier(metal::mem_flags::mem_threadgroup);
        sa_store_four_0(&sums_3[int(1)], start_1, kernelContext_4);
        simdgroup_barrier(metal::mem_flags::mem_threadgroup);
        float4 entries_2 = (*kernelContext_4->stage_0)[_S23];
        product_0[int(8)] = (*kernelContext_4->stage_0)[_S23].x;
        product_0[int(9)] = entries_2.y;
        product_0[int(10)] = entries_2.z;
        product_0[int(11)] = entries_2.w;
        float4 entries_3 = (*kernelContext_4->stage_0)[_S23 + 1U];
        product_0[int(12)] = (*kernelContext_4->stage_0)[_S23 + 1U].x;
        product_0[int(13)] = entries_3.y;
        product_0[int(14)] = entries_3.z;
        product_0[int(15)] = entries_3.w;
        _S22 = product_0;
        break;
    }
    return _S22;
}

array<float, int(16)> sa_gradients_and_rows_0(float device* matrix_1, uint at_4, int first_3, int bias_first_1, const array<float, int(16)> thread* columns_1, const array<float, int(16)> thread* rows_1, KernelContext_0 thread* kernelContext_5)
{
    sa_add_outer_and_rows_0(first_3, bias_first_1, columns_1, rows_1, kernelContext_5);
    array<float, int(16)> _S36 = sa_times_transposed_0(matrix_1, at_4, rows_1, kernelContext_5);
    return _S36;
}

void results_net_l1_w_times_bwd_0(DiffPair_arrayx3Cfloatx2C16x3E_0 thread* x_0, const array<float, int(16)> thread* d_out_0, KernelContext_0 thread* kernelContext_6)
{
    array<float, int(16)> _S37 = x_0->primal_0;
    thread array<float, int(16)> _S38 = x_0->primal_0;
    array<float, int(16)> _S39 = sa_gradients_and_rows_0(kernelContext_6->results_net_l1_w_0, 0U, int(0), int(0), &_S38, d_out_0, kernelContext_6);
    x_0->primal_0 = _S37;
    x_0->differential_0 = _S39;
    return;
}

void s_bwdProp_results_net_l1_w_times_0(const s_bwdCallableCtx_results_net_l1_w_times_0 thread* ctx_0, array<float, int(16)> thread* d_x_0, const array<float, int(16)> thread* d_out_1, KernelContext_0 thread* kernelContext_7)
{
    thread DiffPair_arrayx3Cfloatx2C16x3E_0 _S40;
    (&_S40)->primal_0 = ctx_0->_S5;
    results_net_l1_w_times_bwd_0(&_S40, d_out_1, kernelContext_7);
    *d_x_0 = (&_S40)->differential_0;
    return;
}

void sa_store_tiles_0(float device* partials_0, uint first_4, KernelContext_0 thread* kernelContext_8)
{
    int wave_1 = int(kernelContext_8->lane_0 / 32U);
    sa_OwnTiles_0 _S41 = sa_OwnTiles_x24init_0(wave_1 % int(4), uint(wave_1 / int(4)), 2U);
    int m_0 = int(0);
    for(;;)
    {
        if(m_0 < int(1))
        {
        }
        else
        {
            break;
        }
        kernelContext_8->others_read_0 = true;
        kernelContext_8->written_0 = 2U;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        bool _S42;
        if(kernelContext_8->is_there_0[m_0])
        {
            _S42 = (_S41.first_0) < int(4);
        }
        else
        {
            _S42 = false;
        }
        bool _S43;
        if(_S42)
        {
            _S43 = (_S41.part_0) < (_S41.parts_1);
        }
        else
        {
            _S43 = false;
        }
        if(_S43)
        {
            simdgroup_store((kernelContext_8->sums_0[m_0]), (threadgroup float*)((&(*kernelContext_8->stage_0)[16U * (_S41.part_0 * 4U + uint(_S41.first_0))])), ulong((8U)));
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        int k_1 = int(kernelContext_8->lane_0);
        for(;;)
        {
            if(k_1 < int(16))
            {
            }
            else
            {
                break;
            }
            uint _S44 = uint(int(16) * (k_1 / int(8) * int(2)) + k_1 % int(8) * int(2));
            float sum_1;
            if(kernelContext_8->is_there_0[m_0])
            {
                uint part_2 = 0U;
                sum_1 = 0.0;
                for(;;)
                {
                    if(part_2 < (_S41.parts_1))
                    {
                    }
                    else
                    {
                        break;
                    }
                    float sum_2 = sum_1 + (*kernelContext_8->stage_0)[_S44 + 16U * part_2 * 4U].x;
                    part_2 = part_2 + 1U;
                    sum_1 = sum_2;
                }
            }
            else
            {
                sum_1 = 0.0;
            }
            *(partials_0+(first_4 + uint(m_0 * int(16) + k_1))) = sum_1;
            k_1 = k_1 + int(256);
        }
        m_0 = m_0 + int(1);
    }
    return;
}

void sa_store_tiles_1(float device* partials_1, uint first_5, KernelContext_0 thread* kernelContext_9)
{
    int wave_2 = int(kernelContext_9->lane_0 / 32U);
    sa_OwnTiles_0 _S45 = sa_OwnTiles_x24init_0(wave_2 % int(4), uint(wave_2 / int(4)), 2U);
    int m_1 = int(0);
    for(;;)
    {
        if(m_1 < int(1))
        {
        }
        else
        {
            break;
        }
        kernelContext_9->others_read_0 = true;
        kernelContext_9->written_0 = 2U;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        bool _S46;
        if(kernelContext_9->is_there_1[m_1])
        {
            _S46 = (_S45.first_0) < int(4);
        }
        else
        {
            _S46 = false;
        }
        bool _S47;
        if(_S46)
        {
            _S47 = (_S45.part_0) < (_S45.parts_1);
        }
        else
        {
            _S47 = false;
        }
        if(_S47)
        {
            simdgroup_store((kernelContext_9->sums_1[m_1]), (threadgroup float*)((&(*kernelContext_9->stage_0)[16U * (_S45.part_0 * 4U + uint(_S45.first_0))])), ulong((8U)));
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        int k_2 = int(kernelContext_9->lane_0);
        for(;;)
        {
            if(k_2 < int(256))
            {
            }
            else
            {
                break;
            }
            int _S48 = k_2 / int(16);
            int _S49 = k_2 % int(16);
            uint _S50 = uint(int(16) * (_S48 / int(8) * int(2) + _S49 / int(8)) + _S48 % int(8) * int(2) + _S49 % int(8) / int(4));
            float sum_3;
            if(kernelContext_9->is_there_1[m_1])
            {
                uint part_3 = 0U;
                sum_3 = 0.0;
                for(;;)
                {
                    if(part_3 < (_S45.parts_1))
                    {
                    }
                    else
                    {
                        break;
                    }
                    float sum_4 = sum_3 + (*kernelContext_9->stage_0)[_S50 + 16U * part_3 * 4U][_S49 % int(4)];
                    part_3 = part_3 + 1U;
                    sum_3 = sum_4;
                }
            }
            else
            {
                sum_3 = 0.0;
            }
            *(partials_1+(first_5 + uint(m_1 * int(256) + k_2))) = sum_3;
            k_2 = k_2 + int(256);
        }
        m_1 = m_1 + int(1);
    }
    return;
}

array<float, int(16)> dadd_0(const array<float, int(16)> thread* a_0, const array<float, int(16)> thread* b_0)
{
    thread array<float, int(16)> result_0;
    result_0[int(0)] = (*a_0)[int(0)] + (*b_0)[int(0)];
    result_0[int(1)] = (*a_0)[int(1)] + (*b_0)[int(1)];
    result_0[int(2)] = (*a_0)[int(2)] + (*b_0)[int(2)];
    result_0[int(3)] = (*a_0)[int(3)] + (*b_0)[int(3)];
    result_0[int(4)] = (*a_0)[int(4)] + (*b_0)[int(4)];
    result_0[int(5)] = (*a_0)[int(5)] + (*b_0)[int(5)];
    result_0[int(6)] = (*a_0)[int(6)] + (*b_0)[int(6)];
    result_0[int(7)] = (*a_0)[int(7)] + (*b_0)[int(7)];
    result_0[int(8)] = (*a_0)[int(8)] + (*b_0)[int(8)];
    result_0[int(9)] = (*a_0)[int(9)] + (*b_0)[int(9)];
    result_0[int(10)] = (*a_0)[int(10)] + (*b_0)[int(10)];
    result_0[int(11)] = (*a_0)[int(11)] + (*b_0)[int(11)];
    result_0[int(12)] = (*a_0)[int(12)] + (*b_0)[int(12)];
    result_0[int(13)] = (*a_0)[int(13)] + (*b_0)[int(13)];
    result_0[int(14)] = (*a_0)[int(14)] + (*b_0)[int(14)];
    result_0[int(15)] = (*a_0)[int(15)] + (*b_0)[int(15)];
    return result_0;
}

array<float, int(16)> dzero_0()
{
    array<float, int(16)> _S51 = { 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 };
    return _S51;
}

void sa_store_rows_0(float device* partials_2, uint first_6, uint part_4, uint parts_3, KernelContext_0 thread* kernelContext_10)
{
    sa_store_tiles_0(partials_2, first_6, kernelContext_10);
    return;
}

void sa_store_outer_0(float device* partials_3, uint first_7, uint part_5, uint parts_4, KernelContext_0 thread* kernelContext_11)
{
    sa_store_tiles_1(partials_3, first_7, kernelContext_11);
    return;
}

struct sa_Turns_0
{
    uint first_8;
    uint last_0;
    uint step_0;
};

void sa_store_vectors_0(float device* target_0, const sa_Turns_0 thread* turns_0, uint turn_0, const array<float, int(16)> thread* vector_1, KernelContext_0 thread* kernelContext_12)
{
    uint start_2 = 0U;
    for(;;)
    {
        if(start_2 < 256U)
        {
        }
        else
        {
            break;
        }
        kernelContext_12->others_read_0 = true;
        kernelContext_12->written_0 = 2U;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        bool _S52;
        if((kernelContext_12->lane_0) >= start_2)
        {
            _S52 = (kernelContext_12->lane_0) < (start_2 + 320U);
        }
        else
        {
            _S52 = false;
        }
        if(_S52)
        {
            int j_0 = int(0);
            for(;;)
            {
                if(j_0 < int(4))
                {
                }
                else
                {
                    break;
                }
                int _S53 = int(4) * j_0;
                thread float4 block_13 = float4(int4(int(0)) );
                if(_S53 < int(16))
                {
                    block_13.x = (*vector_1)[_S53];
                }
                int _S54 = _S53 + int(1);
                if(_S54 < int(16))
                {
                    block_13.y = (*vector_1)[_S54];
                }
                int _S55 = _S53 + int(2);
                if(_S55 < int(16))
                {
                    block_13.z = (*vector_1)[_S55];
                }
                int _S56 = _S53 + int(3);
                if(_S56 < int(16))
                {
                    block_13.w = (*vector_1)[_S56];
                }
                float4 _S57 = block_13;
                (*kernelContext_12->stage_0)[(kernelContext_12->lane_0 - start_2) * 5U + uint(j_0)] = _S57;
                j_0 = j_0 + int(1);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint _S58 = turn_0 + start_2;
        uint _S59 = min(320U, 256U - start_2);
        uint _S60 = turns_0->last_0;
        uint _S61;
        if(_S58 < (turns_0->last_0))
        {
            _S61 = min(_S59, _S60 - _S58);
        }
        else
        {
            _S61 = 0U;
        }
        uint n_1 = kernelContext_12->lane_0;
        for(;;)
        {
            if(n_1 < (_S61 * 16U))
            {
            }
            else
            {
                break;
            }
            uint _S62 = n_1 % 16U;
            *(target_0+(_S58 * 16U + n_1)) = (*kernelContext_12->stage_0)[n_1 / 16U * 5U + _S62 / 4U][_S62 % 4U];
            n_1 = n_1 + 256U;
        }
        start_2 = start_2 + 320U;
    }
    return;
}

struct s_paramCtx_s_bwdCallableCtx_results_0
{
    array<float, int(16)> value0_0;
};

struct s_bwdCallableCtx_results_0
{
    s_paramCtx_s_bwdCallableCtx_results_0 value0_1;
};

struct s_paramCtx_s_bwdCallableCtx_MLP_16_16_call_0
{
    array<float, int(16)> value0_2;
};

struct s_bwdCallableCtx_MLP_16_16_call_0
{
    s_paramCtx_s_bwdCallableCtx_MLP_16_16_call_0 value0_3;
};

void s_bwdProp_MLP_16_16_call_0(const s_bwdCallableCtx_MLP_16_16_call_0 thread* _S63, array<float, int(16)> thread* _S64, const array<float, int(16)> thread* _S65, KernelContext_0 thread* kernelContext_13)
{
    thread s_bwdCallableCtx_results_net_l1_w_times_0 _S66;
    (&_S66)->_S5 = (&_S63->value0_3)->value0_2;
    array<float, int(16)> _S67 = dzero_0();
    thread array<float, int(16)> _S68;
    _S68[int(0)] = 0.0;
    _S68[int(1)] = 0.0;
    _S68[int(2)] = 0.0;
    _S68[int(3)] = 0.0;
    _S68[int(4)] = 0.0;
    _S68[int(5)] = 0.0;
    _S68[int(6)] = 0.0;
    _S68[int(7)] = 0.0;
    _S68[int(8)] = 0.0;
    _S68[int(9)] = 0.0;
    _S68[int(10)] = 0.0;
    _S68[int(11)] = 0.0;
    _S68[int(12)] = 0.0;
    _S68[int(13)] = 0.0;
    _S68[int(14)] = 0.0;
    _S68[int(15)] = 0.0;
    thread s_bwdCallableCtx_results_net_l1_w_times_0 _S69 = _S66;
    s_bwdProp_results_net_l1_w_times_0(&_S69, &_S68, _S65, kernelContext_13);
    thread array<float, int(16)> _S70 = _S68;
    thread array<float, int(16)> _S71 = _S67;
    array<float, int(16)> _S72 = dadd_0(&_S70, &_S71);
    *_S64 = _S72;
    return;
}

void s_bwdProp_results_0(const s_bwdCallableCtx_results_0 thread* _S73, array<float, int(16)> thread* _S74, const array<float, int(16)> thread* _S75, KernelContext_0 thread* kernelContext_14)
{
    thread s_paramCtx_s_bwdCallableCtx_MLP_16_16_call_0 _S76;
    (&_S76)->value0_2 = (&_S73->value0_1)->value0_0;
    array<float, int(16)> _S77 = dzero_0();
    thread array<float, int(16)> _S78;
    _S78[int(0)] = 0.0;
    _S78[int(1)] = 0.0;
    _S78[int(2)] = 0.0;
    _S78[int(3)] = 0.0;
    _S78[int(4)] = 0.0;
    _S78[int(5)] = 0.0;
    _S78[int(6)] = 0.0;
    _S78[int(7)] = 0.0;
    _S78[int(8)] = 0.0;
    _S78[int(9)] = 0.0;
    _S78[int(10)] = 0.0;
    _S78[int(11)] = 0.0;
    _S78[int(12)] = 0.0;
    _S78[int(13)] = 0.0;
    _S78[int(14)] = 0.0;
    _S78[int(15)] = 0.0;
    thread s_bwdCallableCtx_MLP_16_16_call_0 _S79;
    (&_S79)->value0_3 = _S76;
    s_bwdProp_MLP_16_16_call_0(&_S79, &_S78, _S75, kernelContext_14);
    thread array<float, int(16)> _S80 = _S78;
    thread array<float, int(16)> _S81 = _S77;
    array<float, int(16)> _S82 = dadd_0(&_S80, &_S81);
    *_S74 = _S82;
    return;
}

void _S83(DiffPair_arrayx3Cfloatx2C16x3E_0 thread* _S84, const array<float, int(16)> thread* _S85, KernelContext_0 thread* kernelContext_15)
{
    thread s_paramCtx_s_bwdCallableCtx_results_0 _S86;
    (&_S86)->value0_0 = _S84->primal_0;
    thread s_bwdCallableCtx_results_0 _S87;
    (&_S87)->value0_1 = _S86;
    s_bwdProp_results_0(&_S87, &_S84->differential_0, _S85, kernelContext_15);
    return;
}

array<float, int(16)> sa_load_vectors_0(float device* source_0, const sa_Turns_0 thread* turns_1, uint turn_1, KernelContext_0 thread* kernelContext_16)
{
    thread array<float, int(16)> vector_2;
    vector_2[int(0)] = 0.0;
    vector_2[int(1)] = 0.0;
    vector_2[int(2)] = 0.0;
    vector_2[int(3)] = 0.0;
    vector_2[int(4)] = 0.0;
    vector_2[int(5)] = 0.0;
    vector_2[int(6)] = 0.0;
    vector_2[int(7)] = 0.0;
    vector_2[int(8)] = 0.0;
    vector_2[int(9)] = 0.0;
    vector_2[int(10)] = 0.0;
    vector_2[int(11)] = 0.0;
    vector_2[int(12)] = 0.0;
    vector_2[int(13)] = 0.0;
    vector_2[int(14)] = 0.0;
    vector_2[int(15)] = 0.0;
    uint _S88 = turns_1->last_0;
    uint _S89 = min(turn_1 + kernelContext_16->lane_0, turns_1->last_0 - 1U) - turn_1;
    uint start_3 = 0U;
    for(;;)
    {
        if(start_3 < 256U)
        {
        }
        else
        {
            break;
        }
        uint _S90 = turn_1 + start_3;
        uint _S91 = min(320U, 256U - start_3);
        uint _S92;
        if(_S90 < _S88)
        {
            _S92 = min(_S91, _S88 - _S90);
        }
        else
        {
            _S92 = 0U;
        }
        kernelContext_16->others_read_0 = true;
        kernelContext_16->written_0 = 2U;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint n_2 = kernelContext_16->lane_0;
        for(;;)
        {
            if(n_2 < (_S92 * 16U))
            {
            }
            else
            {
                break;
            }
            uint _S93 = n_2 % 16U;
            (*kernelContext_16->stage_0)[n_2 / 16U * 5U + _S93 / 4U][_S93 % 4U] = source_0[_S90 * 16U + n_2];
            n_2 = n_2 + 256U;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        bool _S94;
        if(_S89 >= start_3)
        {
            _S94 = _S89 < (start_3 + 320U);
        }
        else
        {
            _S94 = false;
        }
        if(_S94)
        {
            int j_1 = int(0);
            for(;;)
            {
                if(j_1 < int(4))
                {
                }
                else
                {
                    break;
                }
                int _S95 = int(4) * j_1;
                float4 _S96 = (*kernelContext_16->stage_0)[(_S89 - start_3) * 5U + uint(j_1)];
                if(_S95 < int(16))
                {
                    vector_2[_S95] = _S96.x;
                }
                int _S97 = _S95 + int(1);
                if(_S97 < int(16))
                {
                    vector_2[_S97] = _S96.y;
                }
                int _S98 = _S95 + int(2);
                if(_S98 < int(16))
                {
                    vector_2[_S98] = _S96.z;
                }
                int _S99 = _S95 + int(3);
                if(_S99 < int(16))
                {
                    vector_2[_S99] = _S96.w;
                }
                j_1 = j_1 + int(1);
            }
        }
        start_3 = start_3 + 320U;
    }
    return vector_2;
}

sa_Turns_0 sa_Turns_x24init_0(uint first_9, uint last_1, uint step_1)
{
    thread sa_Turns_0 _S100;
    (&_S100)->first_8 = first_9;
    (&_S100)->last_0 = last_1;
    (&_S100)->step_0 = step_1;
    return _S100;
}

sa_Turns_0 sa_turns_0(uint group_0, uint count_1, uint parts_5)
{
    return sa_Turns_x24init_0(group_0 * 256U, count_1, parts_5 * 256U);
}

array<float, int(16)> load_float_16_0(float device* source_1, uint i_1)
{
    thread array<float, int(16)> value_0;
    uint k_3 = 0U;
    for(;;)
    {
        if(k_3 < 16U)
        {
        }
        else
        {
            break;
        }
        value_0[k_3] = source_1[16U * i_1 + k_3];
        k_3 = k_3 + 1U;
    }
    return value_0;
}

[[kernel]] void results_backward(uint3 sv_groupthreadid_0 [[thread_position_in_threadgroup]], uint3 thread_0 [[thread_position_in_grid]], uint3 group_1 [[threadgroup_position_in_grid]], float device* results_net_l1_w_1 [[buffer(5)]], EntryPointParams_0 constant* entryPointParams_1 [[buffer(0)]], float device* entryPointParams_x_1 [[buffer(1)]], float device* entryPointParams_x_grad_1 [[buffer(2)]], float device* entryPointParams_result_cotangent_1 [[buffer(3)]], float device* entryPointParams_partials_1 [[buffer(4)]])
{
    thread KernelContext_0 kernelContext_17;
    (&kernelContext_17)->results_net_l1_w_0 = results_net_l1_w_1;
    (&kernelContext_17)->entryPointParams_0 = entryPointParams_1;
    (&kernelContext_17)->entryPointParams_x_0 = entryPointParams_x_1;
    (&kernelContext_17)->entryPointParams_x_grad_0 = entryPointParams_x_grad_1;
    (&kernelContext_17)->entryPointParams_result_cotangent_0 = entryPointParams_result_cotangent_1;
    (&kernelContext_17)->entryPointParams_partials_0 = entryPointParams_partials_1;
    threadgroup array<float4, int(1600)> stage_1;
    (&kernelContext_17)->stage_0 = &stage_1;
    (&kernelContext_17)->is_there_0 = _S1();
    (&kernelContext_17)->is_there_1 = _S3();
    (&kernelContext_17)->others_read_0 = false;
    (&kernelContext_17)->written_0 = 2U;
    (&kernelContext_17)->lane_0 = (sv_groupthreadid_0[int(2)] + sv_groupthreadid_0[int(1)]) * 256U + sv_groupthreadid_0[int(0)];
    int k_4 = int(0);
    for(;;)
    {
        if(k_4 < int(4))
        {
        }
        else
        {
            break;
        }
        (&kernelContext_17)->results_net_l1_w_sums_0[k_4] = float4(int4(int(0)) );
        k_4 = k_4 + int(1);
    }
    k_4 = int(0);
    for(;;)
    {
        if(k_4 < int(1))
        {
        }
        else
        {
            break;
        }
        (&kernelContext_17)->results_net_l1_b_sums_0[k_4] = float4(int4(int(0)) );
        k_4 = k_4 + int(1);
    }
    uint _S101 = group_1.x;
    sa_Turns_0 turns_2 = sa_turns_0(_S101, (&kernelContext_17)->entryPointParams_0->count_0, (&kernelContext_17)->entryPointParams_0->parts_0);
    uint turn_2 = turns_2.first_8;
    for(;;)
    {
        if(turn_2 < (turns_2.last_0))
        {
        }
        else
        {
            break;
        }
        bool _S102 = (turn_2 + (&kernelContext_17)->lane_0) < (turns_2.last_0);
        uint _S103 = min(turn_2 + (&kernelContext_17)->lane_0, turns_2.last_0 - 1U);
        thread sa_Turns_0 _S104 = turns_2;
        array<float, int(16)> _S105 = sa_load_vectors_0((&kernelContext_17)->entryPointParams_x_0, &_S104, turn_2, &kernelContext_17);
        array<float, int(16)> _S106 = dzero_0();
        thread DiffPair_arrayx3Cfloatx2C16x3E_0 x_pair_0;
        (&x_pair_0)->primal_0 = _S105;
        (&x_pair_0)->differential_0 = _S106;
        array<float, int(16)> result_own_0;
        if(_S102)
        {
            result_own_0 = load_float_16_0((&kernelContext_17)->entryPointParams_result_cotangent_0, _S103);
        }
        else
        {
            result_own_0[int(0)] = 0.0;
            result_own_0[int(1)] = 0.0;
            result_own_0[int(2)] = 0.0;
            result_own_0[int(3)] = 0.0;
            result_own_0[int(4)] = 0.0;
            result_own_0[int(5)] = 0.0;
            result_own_0[int(6)] = 0.0;
            result_own_0[int(7)] = 0.0;
            result_own_0[int(8)] = 0.0;
            result_own_0[int(9)] = 0.0;
            result_own_0[int(10)] = 0.0;
            result_own_0[int(11)] = 0.0;
            result_own_0[int(12)] = 0.0;
            result_own_0[int(13)] = 0.0;
            result_own_0[int(14)] = 0.0;
            result_own_0[int(15)] = 0.0;
        }
        thread array<float, int(16)> _S107 = result_own_0;
        _S83(&x_pair_0, &_S107, &kernelContext_17);
        thread sa_Turns_0 _S108 = turns_2;
        thread array<float, int(16)> _S109 = (&x_pair_0)->differential_0;
        sa_store_vectors_0((&kernelContext_17)->entryPointParams_x_grad_0, &_S108, turn_2, &_S109, &kernelContext_17);
        turn_2 = turn_2 + turns_2.step_0;
    }
    uint _S110 = _S101 * 272U;
    sa_store_outer_0((&kernelContext_17)->entryPointParams_partials_0, _S110, _S101, (&kernelContext_17)->entryPointParams_0->parts_0, &kernelContext_17);
    sa_store_rows_0((&kernelContext_17)->entryPointParams_partials_0, _S110 + 256U, _S101, (&kernelContext_17)->entryPointParams_0->parts_0, &kernelContext_17);
    return;
}

